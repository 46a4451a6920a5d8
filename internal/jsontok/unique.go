package jsontok

// Unique returns nil if data is one JSON value, with or without white space round
// it, in which no object has two members of one name, however deep it lies. The
// error is a [*SyntaxError] or a [*DuplicateKeyError]. It is for values on which
// something is decided here that another reader acts on.
func Unique(data []byte) error {
	s := scanner{data: data, maxDepth: DefaultMaxDepth}
	i, err := s.unique(skipSpace(data, 0), 0)
	if err != nil {
		return err
	}
	return s.end(i)
}

// unique is value for a value without duplicate members.
func (s scanner) unique(i, depth int) (int, error) {
	if i >= len(s.data) {
		return s.value(i, depth)
	}
	switch s.data[i] {
	case '{':
		return s.uniqueObject(i, depth+1)
	case '[':
		i, done, err := s.open(i, depth+1, ']')
		for err == nil && !done {
			if i, err = s.unique(i, depth+1); err != nil {
				break
			}
			i, done, err = s.next(i, ']')
		}
		return i, err
	default:
		return s.value(i, depth)
	}
}

func (s scanner) uniqueObject(i, depth int) (int, error) {
	var seen keySet
	i, done, err := s.open(i, depth, '}')
	for err == nil && !done {
		name := i
		var escaped bool
		if i, escaped, err = s.key(i); err != nil {
			break
		}
		key := s.data[name+1 : i-1 : i-1]
		if escaped {
			key = appendUnescaped(make([]byte, 0, len(key)), key)
		}
		if !seen.add(key) {
			return 0, &DuplicateKeyError{Offset: int64(name), Key: string(key)}
		}
		if i, err = s.colon(i); err != nil {
			break
		}
		if i, err = s.unique(i, depth); err != nil {
			break
		}
		i, done, err = s.next(i, '}')
	}
	return i, err
}
