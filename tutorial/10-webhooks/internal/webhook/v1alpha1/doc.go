// Package v1alpha1 is the admission of Memcacheds: what their schema can't say. Each rule is a function of its own, without
// effects; webhook.go connects them with the API server.
//
// Defaults and the limits of single fields are in the schema (api/v1alpha1): the API server knows them without
// asking anybody.
package v1alpha1
