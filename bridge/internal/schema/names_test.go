package schema

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
)

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// fakeMethod is a method of which only the full name is asked.
type fakeMethod struct {
	protoreflect.MethodDescriptor
	full protoreflect.FullName
}

func (m fakeMethod) FullName() protoreflect.FullName { return m.full }

func fakes(names ...string) []protoreflect.MethodDescriptor {
	var ms []protoreflect.MethodDescriptor
	for _, n := range names {
		ms = append(ms, fakeMethod{full: protoreflect.FullName(n)})
	}
	return ms
}

func TestNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("Long", 20)
	tests := []struct {
		name    string
		methods []string
		taken   map[protoreflect.FullName]string
		want    map[protoreflect.FullName]string
	}{
		{"default", []string{"library.v1.Library.GetBook"}, nil,
			map[protoreflect.FullName]string{"library.v1.Library.GetBook": "Library_GetBook"}},
		{"no package", []string{"Library.GetBook"}, nil,
			map[protoreflect.FullName]string{"Library.GetBook": "Library_GetBook"}},
		{"one more segment", []string{"a.v1.S.M", "a.v2.S.M", "a.v1.S.N"}, nil,
			map[protoreflect.FullName]string{"a.v1.S.M": "v1_S_M", "a.v2.S.M": "v2_S_M", "a.v1.S.N": "S_N"}},
		{"as few segments as needed", []string{"a.v1.S.M", "b.v1.S.M", "b.v2.S.M"}, nil,
			map[protoreflect.FullName]string{"a.v1.S.M": "a_v1_S_M", "b.v1.S.M": "b_v1_S_M", "b.v2.S.M": "v2_S_M"}},
		{"a package inside the other", []string{"v1.S.M", "a.v1.S.M", "S.M"}, nil,
			map[protoreflect.FullName]string{"S.M": "S_M", "v1.S.M": "v1_S_M", "a.v1.S.M": "a_v1_S_M"}},
		{"same after joining", []string{"p.A_B.C", "p.A.B_C"}, nil,
			map[protoreflect.FullName]string{"p.A_B.C": "A_B_C_7bkofmmc2k", "p.A.B_C": "A_B_C_ddxkeib6ha"}},
		{"given names stay", []string{"a.v1.S.M", "a.v2.S.M"}, map[protoreflect.FullName]string{"a.v1.S.M": "S_M"},
			map[protoreflect.FullName]string{"a.v1.S.M": "S_M", "a.v2.S.M": "v2_S_M"}},
		{"names of absent methods stay reserved", []string{"a.v2.S.M"}, map[protoreflect.FullName]string{"a.v1.S.M": "S_M"},
			map[protoreflect.FullName]string{"a.v2.S.M": "v2_S_M"}},
		{"twice the same method", []string{"a.S.M", "a.S.M"}, nil, map[protoreflect.FullName]string{"a.S.M": "S_M"}},
		{"too long", []string{"a." + long + "." + "Get"}, nil,
			map[protoreflect.FullName]string{protoreflect.FullName("a." + long + ".Get"): long[:49] + "_Get_z4x5jq2kpv"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := Names(fakes(test.methods...), test.taken)
			if !maps.Equal(got, test.want) {
				t.Errorf("got  %v\nwant %v", got, test.want)
			}
		})
	}
}

func TestNamesProperties(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	parts := []string{"a", "b", "v1", "a_b", "_", "S", "A_S", strings.Repeat("Wide", 12), strings.Repeat("x", 300)}
	for round := range 300 {
		all := map[string]bool{}
		for range 1 + r.IntN(40) {
			var segments []string
			for range 2 + r.IntN(4) {
				segments = append(segments, parts[r.IntN(len(parts))])
			}
			all[strings.Join(segments, ".")] = true
		}
		list := slices.Sorted(maps.Keys(all))
		names := Names(fakes(list...), nil)
		check(t, names, len(list))

		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		if again := Names(fakes(list...), nil); !maps.Equal(names, again) {
			t.Fatalf("round %d: names depend on the order:\n%v\n%v", round, names, again)
		}

		// Services come one after the other; what was given stays.
		given := map[protoreflect.FullName]string{}
		for n := range len(list) {
			next := Names(fakes(list[:n+1]...), given)
			for full, name := range given {
				if next[full] != name {
					t.Fatalf("round %d: %s was %s, is %s", round, full, name, next[full])
				}
			}
			given = next
		}
		check(t, given, len(list))
	}
}

// TestNamesStayGiven adds, removes and renames services at random. Whoever
// keeps what was given finds every name unchanged, and no name given twice.
func TestNamesStayGiven(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	packages := []string{"", "a.", "a.v1.", "a.v2.", "b.v1.", "b.a.v1."}
	services := []string{"S", "T", "S_T", strings.Repeat("Wide", 12), strings.Repeat("Wide", 12) + "r"}
	rpcs := []string{"M", "Get", "T_M", strings.Repeat("Long", 8)}
	for range 100 {
		served := map[string]bool{}                  // services
		given := map[protoreflect.FullName]string{}  // ever
		owners := map[string]protoreflect.FullName{} // of names
		for range 30 {
			pick := func() string { return packages[r.IntN(len(packages))] + services[r.IntN(len(services))] }
			switch all := slices.Sorted(maps.Keys(served)); {
			case len(all) == 0 || r.IntN(3) > 0:
				served[pick()] = true
			case r.IntN(2) == 0:
				delete(served, all[r.IntN(len(all))])
			default: // renamed: gone, and there under another name
				delete(served, all[r.IntN(len(all))])
				served[pick()] = true
			}
			var list []string
			for service := range served {
				for _, rpc := range rpcs {
					list = append(list, service+"."+rpc)
				}
			}
			names := Names(fakes(list...), given)
			check(t, names, len(list))
			for full, name := range names {
				if before, ok := given[full]; ok && before != name {
					t.Fatalf("%s was %s, is %s", full, before, name)
				}
				if owner, ok := owners[name]; ok && owner != full {
					t.Fatalf("%s is the name of %s, and was of %s", name, full, owner)
				}
				given[full], owners[name] = name, full
			}
		}
	}
}

func TestNamesWithHashes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("Long", 20)
	names := Names(fakes("a."+long+".Get", "b."+long+".Get", "a."+long+"."+long, "a.S."+long), nil)
	check(t, names, 4)
	for full, name := range names {
		head, tail := name[:len(name)-hashLen-1], name[len(name)-hashLen-1:]
		if len(name) > maxName || tail[0] != '_' || !strings.HasPrefix(string(full[2:]), head[:12]) && head[:2] != "S_" {
			t.Errorf("%s: %q", full, name)
		}
		alone := Names(fakes(string(full)), nil)
		if alone[full] != name {
			t.Errorf("%s: %q, and %q on its own", full, name, alone[full])
		}
	}
}

func check(t *testing.T, names map[protoreflect.FullName]string, want int) {
	t.Helper()
	if len(names) != want {
		t.Fatalf("%d names, want %d", len(names), want)
	}
	seen := map[string]protoreflect.FullName{}
	for full, name := range names {
		if !toolName.MatchString(name) {
			t.Fatalf("%s: name %q", full, name)
		}
		if other, ok := seen[name]; ok {
			t.Fatalf("%s and %s are both %q", full, other, name)
		}
		seen[name] = full
	}
}

func BenchmarkNames(b *testing.B) {
	var list []string
	for i := range 5000 {
		list = append(list, fmt.Sprintf("company.area%d.v%d.Service%d.Method%d", i%7, i%3, i%100, i))
	}
	methods := fakes(list...)
	b.ReportAllocs()
	for b.Loop() {
		Names(methods, nil)
	}
}
