// Package v1alpha1 holds the admission webhooks for Memcacheds: the rules that their schema can't express. Each rule is a pure
// function; webhook.go connects them to the API server.
//
// Defaults and the limits of single fields are in the schema (api/v1alpha1), because the API server applies them without calling
// a webhook.
package v1alpha1
