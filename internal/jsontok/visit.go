package jsontok

// Object calls visit for each member of the object data, in order. White
// space round the object is allowed.
//
// The key is unescaped. The value is one valid JSON value without white space
// round it, and a sub-slice of data. Neither may be changed; both stay valid
// as long as data does. Members are visited while the scan goes on: a fault
// further back shows only after the members before it have been visited.
//
// Object returns the first error that visit returns, as it is; a
// [*SyntaxError] if data is not one object, or is nested deeper than
// [DefaultMaxDepth]; and a [*DuplicateKeyError] if two members of this object
// have one name. It does not look for those in objects further inside.
func Object(data []byte, visit func(key, value []byte) error) error {
	s := scanner{data: data, maxDepth: DefaultMaxDepth}
	i := skipSpace(data, 0)
	if i >= len(data) || data[i] != '{' {
		return s.unexpected(i, "an object")
	}
	var seen keySet
	i, done, err := s.open(i, 1, '}')
	for err == nil && !done {
		name := i
		var escaped bool
		if i, escaped, err = s.key(i); err != nil {
			break
		}
		key := data[name+1 : i-1 : i-1]
		if escaped {
			key = appendUnescaped(make([]byte, 0, len(key)), key)
		}
		if !seen.add(key) {
			return &DuplicateKeyError{Offset: int64(name), Key: string(key)}
		}
		if i, err = s.colon(i); err != nil {
			break
		}
		value := i
		if i, err = s.value(i, 1); err != nil {
			break
		}
		if err = visit(key, data[value:i:i]); err != nil {
			break
		}
		i, done, err = s.next(i, '}')
	}
	if err != nil {
		return err
	}
	return s.end(i)
}

// Array calls visit for each element of the array data, in order, with its
// index. Values and errors are as for [Object].
func Array(data []byte, visit func(i int, value []byte) error) error {
	s := scanner{data: data, maxDepth: DefaultMaxDepth}
	i := skipSpace(data, 0)
	if i >= len(data) || data[i] != '[' {
		return s.unexpected(i, "an array")
	}
	i, done, err := s.open(i, 1, ']')
	for n := 0; err == nil && !done; n++ {
		value := i
		if i, err = s.value(i, 1); err != nil {
			break
		}
		if err = visit(n, data[value:i:i]); err != nil {
			break
		}
		i, done, err = s.next(i, ']')
	}
	if err != nil {
		return err
	}
	return s.end(i)
}

// Lookup returns the value of the first member of the object data whose
// unescaped name is key, and false if there is none or data is no object.
//
// It stops where it has found the member. So it is for data that is known to
// be valid, and it does not see that a name occurs twice: to decide on
// something that another reader of the same bytes will decide on too, use
// [Object].
func Lookup(data []byte, key string) (value []byte, ok bool) {
	s := scanner{data: data, maxDepth: DefaultMaxDepth}
	i := skipSpace(data, 0)
	if i >= len(data) || data[i] != '{' {
		return nil, false
	}
	i, done, err := s.open(i, 1, '}')
	for err == nil && !done {
		name := i
		var escaped bool
		if i, escaped, err = s.key(i); err != nil {
			break
		}
		found := matches(data[name+1:i-1], escaped, key)
		if i, err = s.colon(i); err != nil {
			break
		}
		start := i
		if i, err = s.value(i, 1); err != nil {
			break
		}
		if found {
			return data[start:i:i], true
		}
		i, done, err = s.next(i, '}')
	}
	return nil, false
}

// matches reports whether raw, the inside of a string, stands for key.
func matches(raw []byte, escaped bool, key string) bool {
	if !escaped {
		return string(raw) == key
	}
	// An escape is at most six times as long as what it stands for.
	if len(raw) > 6*len(key) {
		return false
	}
	return string(appendUnescaped(nil, raw)) == key
}
