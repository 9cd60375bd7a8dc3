// Package cloudauth reads the settings that stores and key providers share for the credentials of AWS, Azure and Google
// Cloud, and creates credentials from them. Settings that are not set come from the environment and from the sources
// that each cloud's tools use.
package cloudauth
