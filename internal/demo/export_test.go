package demo

// OnReindex makes a library call f when Reindex begins to wait.
func OnReindex(l *Library, f func()) { l.reindexing = f }
