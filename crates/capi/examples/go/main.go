// Scores messages through the C library, one goroutine each:
//
//	go build && ./score MODEL MESSAGE...
package main

/*
#cgo pkg-config: tamis
#include <stdlib.h>
#include <tamis.h>
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"
)

// Filter is a model that goroutines share.
type Filter struct{ handle *C.TamisFilter }

// Open opens a model file.
func Open(path string) (*Filter, error) {
	// the last error belongs to a thread, so a goroutine stays on its own until it has read it
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	handle := C.tamis_open(text)
	if handle == nil {
		return nil, lastError()
	}
	return &Filter{handle}, nil
}

// Close frees the model.
func (filter *Filter) Close() { C.tamis_free(filter.handle) }

// Score returns the verdict on a message and its log-odds.
func (filter *Filter) Score(message []byte) (string, float64, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var start *C.uint8_t
	if len(message) > 0 {
		start = (*C.uint8_t)(unsafe.Pointer(&message[0]))
	}
	var score C.TamisScore
	if C.tamis_score_mail(filter.handle, start, C.size_t(len(message)), &score) != 0 {
		return "", 0, lastError()
	}
	return C.GoString(score.label), float64(score.log_odds), nil
}

func lastError() error { return errors.New(C.GoString(C.tamis_last_error())) }

func run(arguments []string) error {
	if len(arguments) < 2 {
		return errors.New("usage: score MODEL MESSAGE...")
	}
	filter, err := Open(arguments[0])
	if err != nil {
		return err
	}
	defer filter.Close()
	lines := make([]chan string, len(arguments)-1)
	for i, path := range arguments[1:] {
		line := make(chan string, 1)
		lines[i] = line
		go func(path string) {
			message, err := os.ReadFile(path)
			if err != nil {
				line <- err.Error()
				return
			}
			label, logOdds, err := filter.Score(message)
			if err != nil {
				line <- err.Error()
				return
			}
			line <- fmt.Sprintf("%s %+.2f %s", label, logOdds, path)
		}(path)
	}
	for _, line := range lines {
		fmt.Println(<-line)
	}
	return nil
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}
