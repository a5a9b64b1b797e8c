// Package image extracts the program from a container image, for a machine that has no container runtime to run the image with.
// That works for the images that operators usually come in: one static executable, which needs no other file of its image.
package image
