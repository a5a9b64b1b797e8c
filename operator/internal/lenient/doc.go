// Package lenient reads Memcacheds one by one, so that one that can't be decoded does not hide the others.
//
// A client or an informer of a Go type decodes a list as a whole and a watch event by event, and gives up at the first object that
// does not fit the type. An informer then retries forever: it never syncs, or it never hears of another change. The schema of the
// CustomResourceDefinition is meant to let no such object pass, but an older or a laxer one may have.
package lenient
