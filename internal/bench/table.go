package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// table is printed as Markdown, or in columns.
type table struct {
	title string
	rows  [][]string // the first are the headings
	note  string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) print(w io.Writer, markdown bool) error {
	if markdown {
		return t.printMarkdown(w)
	}
	fmt.Fprintf(w, "%s\n\n", t.title)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range t.rows {
		fmt.Fprintln(tw, strings.Join(row, "\t"))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s", t.foot())
	return err
}

func (t *table) printMarkdown(w io.Writer) error {
	fmt.Fprintf(w, "%s:\n\n", t.title)
	for i, row := range t.rows {
		fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(w, "|---|%s\n", strings.Repeat("--:|", len(row)-1))
		}
	}
	_, err := fmt.Fprintf(w, "\n%s", t.foot())
	return err
}

func (t *table) foot() string {
	if t.note == "" {
		return ""
	}
	return t.note + "\n\n"
}
