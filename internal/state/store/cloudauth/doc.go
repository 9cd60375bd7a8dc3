// Package cloudauth finds out who asks services of AWS, Azure and Google Cloud: the settings that stores and key providers have in
// common for that, and what is made of them. What settings leave out comes from the environment and from where the tools
// of each cloud look.
package cloudauth
