// Package walls holds the test that keeps packages apart: which package may
// import which, and what users of the library must never have to link.
//
// The linter says the same earlier, in the editor; this test sees what it
// cannot: what is linked through other packages, and packages that no rule
// covers. Other tests here look for internal types in what is exported, and for
// packages that the pages for contributors leave out.
package walls
