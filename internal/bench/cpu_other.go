//go:build !linux

package main

import (
	"errors"
	"fmt"
	"time"
)

var errNotLinux = fmt.Errorf("the accounts of other processes are read on Linux only: %w", errors.ErrUnsupported)

func cpuTime(int) (time.Duration, error) { return 0, errNotLinux }
func residentBytes(int) (int64, error)   { return 0, errNotLinux }
