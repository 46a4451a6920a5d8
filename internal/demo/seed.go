package demo

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	libraryv1 "github.com/mcp-bridge/mcp-bridge/gen/library/v1"
)

// LentBook is the name of a book of which no copy is left.
const LentBook = "shelves/1/books/3"

// shelves are the shelves there are.
var shelves = []string{"shelves/1", "shelves/2", "shelves/3", "shelves/4"}

func isShelf(name string) bool { return slices.Contains(shelves, name) }

// opened is when the library opened.
var opened = time.Date(2026, time.January, 5, 9, 0, 0, 0, time.UTC)

// unknown stands for a year that is not known.
const unknown = 1 << 15

// work is a book in short form.
type work struct {
	title    string
	authors  []*libraryv1.Author
	year     int32
	genre    libraryv1.Genre
	language string
	isbn     int64
}

// works are the books, by shelf.
func works() [][]work {
	wells := by("H. G. Wells", 1866, 1946)
	darwin := by("Charles Darwin", 1809, 1882)
	return [][]work{{
		{"Pride and Prejudice", by("Jane Austen", 1775, 1817), 1813, libraryv1.Genre_GENRE_NOVEL, "en", 9780141439518},
		{"Jane Eyre", by("Charlotte Brontë", 1816, 1855), 1847, libraryv1.Genre_GENRE_NOVEL, "en", 9780141441146},
		{"Wuthering Heights", by("Emily Brontë", 1818, 1848), 1847, libraryv1.Genre_GENRE_NOVEL, "en", 9780141439556},
		{"Middlemarch", by("George Eliot", 1819, 1880), 1871, libraryv1.Genre_GENRE_NOVEL, "en", 9780141439549},
		{"Great Expectations", by("Charles Dickens", 1812, 1870), 1861, libraryv1.Genre_GENRE_NOVEL, "en", 9780141439563},
		{"Crime and Punishment", by("Fyodor Dostoevsky", 1821, 1881), 1866, libraryv1.Genre_GENRE_NOVEL, "ru", 9780140449136},
		{"Les Misérables", by("Victor Hugo", 1802, 1885), 1862, libraryv1.Genre_GENRE_NOVEL, "fr", 0},
	}, {
		{"Frankenstein", by("Mary Shelley", 1797, 1851), 1818, libraryv1.Genre_GENRE_GOTHIC, "en", 9780141439471},
		{"Dracula", by("Bram Stoker", 1847, 1912), 1897, libraryv1.Genre_GENRE_GOTHIC, "en", 9780141439846},
		{"The Time Machine", wells, 1895, libraryv1.Genre_GENRE_SCIENCE_FICTION, "en", 9780141439976},
		{"The War of the Worlds", wells, 1898, libraryv1.Genre_GENRE_SCIENCE_FICTION, "en", 9780141441030},
		{"Twenty Thousand Leagues Under the Seas", by("Jules Verne", 1828, 1905), 1870, libraryv1.Genre_GENRE_SCIENCE_FICTION, "fr", 0},
		{"Treasure Island", by("Robert Louis Stevenson", 1850, 1894), 1883, libraryv1.Genre_GENRE_ADVENTURE, "en", 0},
		{"The Hound of the Baskervilles", by("Arthur Conan Doyle", 1859, 1930), 1902, libraryv1.Genre_GENRE_MYSTERY, "en", 0},
		{"Alice's Adventures in Wonderland", by("Lewis Carroll", 1832, 1898), 1865, libraryv1.Genre_GENRE_CHILDREN, "en", 0},
	}, {
		{"The Odyssey", by("Homer", unknown, unknown), unknown, libraryv1.Genre_GENRE_POETRY, "grc", 0},
		{"The Divine Comedy", by("Dante Alighieri", 1265, 1321), 1321, libraryv1.Genre_GENRE_POETRY, "it", 0},
		{"Paradise Lost", by("John Milton", 1608, 1674), 1667, libraryv1.Genre_GENRE_POETRY, "en", 0},
		{
			"Lyrical Ballads", append(by("William Wordsworth", 1770, 1850), by("Samuel Taylor Coleridge", 1772, 1834)...),
			1798, libraryv1.Genre_GENRE_POETRY, "en", 0,
		},
		{"Leaves of Grass", by("Walt Whitman", 1819, 1892), 1855, libraryv1.Genre_GENRE_POETRY, "en", 0},
		{"Hamlet", by("William Shakespeare", 1564, 1616), 1603, libraryv1.Genre_GENRE_DRAMA, "en", 0},
		{"Faust", by("Johann Wolfgang von Goethe", 1749, 1832), 1808, libraryv1.Genre_GENRE_DRAMA, "de", 0},
	}, {
		{"Meditations", by("Marcus Aurelius", 121, 180), unknown, libraryv1.Genre_GENRE_PHILOSOPHY, "grc", 9780140449334},
		{"The Republic", by("Plato", -428, -348), -375, libraryv1.Genre_GENRE_PHILOSOPHY, "grc", 0},
		{"A Vindication of the Rights of Woman", by("Mary Wollstonecraft", 1759, 1797), 1792, libraryv1.Genre_GENRE_PHILOSOPHY, "en", 0},
		{"Walden", by("Henry David Thoreau", 1817, 1862), 1854, libraryv1.Genre_GENRE_PHILOSOPHY, "en", 0},
		{"On the Origin of Species", darwin, 1859, libraryv1.Genre_GENRE_SCIENCE, "en", 0},
		{"The Voyage of the Beagle", darwin, 1839, libraryv1.Genre_GENRE_SCIENCE, "en", 0},
	}}
}

func by(name string, birth, death int32) []*libraryv1.Author {
	return []*libraryv1.Author{{Name: name, BirthYear: year(birth), DeathYear: year(death)}}
}

func year(y int32) *int32 {
	if y == unknown {
		return nil
	}
	return &y
}

// seed returns the books that a library holds in the beginning, in the order of
// their names.
func seed() []*libraryv1.Book {
	var books []*libraryv1.Book
	for i, shelf := range works() {
		for j, w := range shelf {
			n := len(books)
			book := &libraryv1.Book{
				Name:           fmt.Sprintf("%s/books/%d", shelves[i], j+1),
				Title:          w.title,
				Authors:        w.authors,
				Genre:          w.genre,
				Binding:        libraryv1.Binding(n%2 + 1),
				FirstPublished: year(w.year),
				Isbn:           w.isbn,
				Stock:          map[string]int32{"main": int32(n%3 + 1), "riverside": int32(n % 2)},
				Labels:         map[string]string{"language": w.language},
				CreateTime:     timestamppb.New(opened.Add(time.Duration(n) * time.Minute)),
			}
			book.UpdateTime = book.GetCreateTime()
			if n%4 != 3 {
				book.Rating = new(3.5 + float64(n%4)/2)
			}
			if j == 0 {
				book.CoverThumbnail = cover(w.genre)
				book.LoanPeriod = durationpb.New(14 * 24 * time.Hour)
			}
			if book.GetName() == LentBook {
				lend(book)
			}
			books = append(books, book)
		}
	}
	return books
}

// lend makes the only two copies of a book go out.
func lend(book *libraryv1.Book) {
	book.Stock = map[string]int32{"main": 0, "riverside": 0}
	out := opened.AddDate(0, 0, 2)
	back := out.Add(defaultLoan)
	book.Loans = []*libraryv1.Loan{{
		Book:         book.GetName(),
		Borrower:     &libraryv1.Loan_MemberId{MemberId: "M-000042"},
		Branch:       "main",
		CheckOutTime: timestamppb.New(out),
		DueTime:      timestamppb.New(back),
	}, {
		Book: book.GetName(),
		Borrower: &libraryv1.Loan_Guest{Guest: &libraryv1.Guest{
			Name: "Ellis Bell", Email: "ellis.bell@example.com",
		}},
		Branch:       "riverside",
		CheckOutTime: timestamppb.New(out.AddDate(0, 0, 1)),
		DueTime:      timestamppb.New(back.AddDate(0, 0, 1)),
	}}
	book.UpdateTime = book.GetLoans()[1].GetCheckOutTime()
}
