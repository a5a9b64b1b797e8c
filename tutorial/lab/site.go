package lab

import (
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/example/operator-testbed/tutorial/internal/site"
)

// newSite returns the command that writes what Hugo makes the web site from. Learners don't need it, so it is hidden.
func newSite() *cobra.Command {
	var out string
	var translations bool
	command := &cobra.Command{
		Use: "site", Short: "Write the content of the web site", Args: cobra.NoArgs, Hidden: true,
		RunE: func(*cobra.Command, []string) error {
			if translations {
				return printTranslations(".", os.Stdout)
			}
			return writeSite(".", out)
		},
	}
	command.Flags().StringVar(&out, "out", "", "the directory in which to write content/")
	command.Flags().BoolVar(&translations, "translations", false, "only list the pages whose translation is missing or outdated")
	return command
}

// writeSite writes the content of the site of the repository at root.
func writeSite(root, out string) error {
	if out == "" {
		return errors.New("name the directory to write to: --out directory")
	}
	content, err := site.Generate(root)
	if err != nil {
		return err
	}
	return site.Write(out, content)
}

// printTranslations lists what there is to translate.
func printTranslations(root string, out io.Writer) error {
	all, err := site.Translations(root)
	if err != nil {
		return err
	}
	site.PrintTranslations(all, out)
	return nil
}
