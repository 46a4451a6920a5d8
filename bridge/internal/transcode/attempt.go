package transcode

// trial is where an attempt began.
type trial struct {
	cursor *cursor
	pos    int
	out    int
}

// attempt begins to read a value that may not fit, for which there is another
// way then. Until [reader.settle], a violation stops the reader and is not
// kept.
//
// What attempts cost is bounded. The other way is mostly to keep the text as it
// is. Where it is to read the text as another type, what was found out about the
// text is remembered, see [reader.decide], so that nothing is read more often
// than there are such choices around it, times the types to choose from.
// Messages count each time that they are read.
func (r *reader) attempt(c *cursor) trial {
	r.attempts++
	return trial{c, c.pos, len(r.out)}
}

// settle ends an attempt. It returns false, and the reader and the cursor are
// as before, if the value did not fit. It returns true also where the reader
// must stop.
func (r *reader) settle(t trial) bool {
	r.attempts--
	if !r.full || r.fatal {
		return true
	}
	r.full = false
	r.out = r.out[:t.out]
	t.cursor.pos = t.pos
	return false
}

// misfit stops an attempt. It reports false where there is none, so that what is
// wrong is to be told.
func (r *reader) misfit() bool {
	if r.attempts > 0 {
		r.full = true
	}
	return r.attempts > 0
}

// refuse adds a violation that no other way to read the value can help.
func (r *reader) refuse(v Violation) {
	if r.attempts > 0 {
		if r.fatal {
			return
		}
		r.fatal, r.full = true, true
		v.Path = r.path.String()
		r.violations = append(r.violations, v)
		return
	}
	r.report(v)
}

// decision is a place in the text where there is a choice of fields: of forms,
// of which this is the first, or whether a union's field holds the content.
type decision struct {
	at    *byte
	field *field
}

// unfit is the decision that nothing fits.
const unfit = -1

// form reads a value into the first of its forms that holds it. The kind of
// the value, and the members of an object, decide which of them it may be.
func (r *reader) form(c *cursor, g *forms, depth int) {
	if len(g.fields) == 1 {
		r.setField(c, g.fields[0], depth)
		return
	}
	key := decision{&c.data[c.pos], g.fields[0]}
	if i, ok := r.decided[key]; ok {
		if i == unfit {
			r.noForm(c, g)
		} else {
			r.setField(c, g.fields[i], depth)
		}
		return
	}
	last := -1
	for i := range g.fields {
		if g.mayBe(c, i) {
			last = i
		}
	}
	lenient := last < 0 && !r.opts.Exact
	if lenient {
		last = len(g.fields) - 1
	}
	if last < 0 {
		r.noForm(c, g)
		return
	}
	remember := r.retries > 0
	for i := range last {
		if !lenient && !g.mayBe(c, i) {
			continue
		}
		t := r.attempt(c)
		r.retries++
		r.setField(c, g.fields[i], depth)
		r.retries--
		if r.settle(t) {
			r.decide(remember, key, i)
			return
		}
	}
	if lenient {
		t := r.attempt(c)
		if r.setField(c, g.fields[last], depth); !r.settle(t) {
			r.noForm(c, g)
		}
	} else {
		r.setField(c, g.fields[last], depth)
	}
	if r.full {
		last = unfit
	}
	r.decide(remember, key, last)
}

// noForm reports that a value has none of the forms, and passes it.
func (r *reader) noForm(c *cursor, g *forms) {
	if !r.misfit() {
		r.wrong(c, "wrong type", g.expected())
	}
}

// decide remembers a decision if the same text may be read again.
func (r *reader) decide(remember bool, key decision, form int) {
	if !remember {
		return
	}
	if r.decided == nil {
		r.decided = make(map[decision]int)
	}
	r.decided[key] = form
}
