package search_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/search"
)

// catalog is a realistic set of methods: a name and a comment a line.
const catalog = `
Library_CreateShelf: Creates a shelf.
Library_ListShelves: Lists shelves in the order of their names.
Library_CreateBook: Creates a book on a shelf.
Library_GetBook: Gets a book. Returns NOT_FOUND if the book does not exist.
Library_ListBooks: Lists the books of a shelf.
Library_DeleteBook: Deletes a book.
Library_UpdateBook: Updates the fields of a book that the mask names.
Library_MoveBook: Moves a book to another shelf.
Library_CheckOutBook: Lends a book to a reader until a date.
Instances_List: Retrieves the list of VM instances contained within the specified zone.
Instances_Get: Returns the specified instance resource.
Instances_Insert: Creates an instance in the specified project.
Instances_Start: Starts an instance that was stopped.
Instances_Stop: Stops a running instance, shutting it down cleanly.
Instances_Delete: Deletes the specified instance.
Instances_AttachDisk: Attaches an existing disk to an instance.
Disks_Resize: Resizes the specified persistent disk.
Disks_List: Retrieves a list of persistent disks within the specified zone.
Disks_CreateSnapshot: Creates a snapshot of a specified persistent disk.
Firewalls_List: Retrieves the list of firewall rules available to the project.
Firewalls_Insert: Creates a firewall rule.
FirewallPolicies_List: Lists all the policies that have been configured.
Publisher_CreateTopic: Creates the given topic with the given name.
Publisher_DeleteTopic: Deletes the topic with the given name.
Publisher_Publish: Adds one or more messages to the topic.
Subscriber_Pull: Pulls messages from the server.
Subscriber_Acknowledge: Acknowledges the messages that a subscriber has got.
Storage_CreateBucket: Creates a bucket.
Storage_ListObjects: Retrieves a list of objects matching the criteria.
Storage_ReadObject: Retrieves object data.
Storage_WriteObject: Stores a new object.
Storage_SetIamPolicy: Updates the access control policy of a bucket or object.
Storage_GetIamPolicy: Gets the access control policy of a bucket or object.
SecretManager_AddSecretVersion: Creates a new version containing secret data and attaches it to an existing secret.
SecretManager_AccessSecretVersion: Accesses a secret version. This call returns the secret data.
SecretManager_CreateSecret: Creates a new secret containing no versions.
SecretManager_DestroySecretVersion: Destroys a secret version; the data are gone for good.
ClusterManager_CreateCluster: Creates a cluster with the given number and type of nodes.
ClusterManager_DeleteCluster: Deletes the cluster, including the Kubernetes endpoint and all worker nodes.
ClusterManager_SetNodePoolSize: Sets the size of a node pool.
Logging_WriteLogEntries: Writes log entries.
Logging_ListLogEntries: Lists log entries that match a filter.
Logging_TailLogEntries: Streams log entries as they arrive.
Operations_GetOperation: Gets the latest state of a long-running operation.
Operations_CancelOperation: Starts asynchronous cancellation on a long-running operation.
TextToSpeech_SynthesizeSpeech: Synthesizes speech synchronously: receive results after all text input has been processed.
Speech_Recognize: Performs synchronous speech recognition: transcribes audio.
Translation_TranslateText: Translates input text and returns translated text.
Vision_AnnotateImage: Runs detection of faces, landmarks and text on an image.
Billing_ListInvoices: Lists the invoices of an account.
Billing_GetInvoice: Gets an invoice as PDF.
Users_InviteUser: Sends an invitation by e-mail.
Users_ResetPassword: Sends a link with which the user chooses a new password.
Users_ListUsers: Lists the users of an organization.
HTTPRouteService_CreateHTTPRoute: Creates an HTTP route.
Rollouts_RollbackTarget: Rolls a target back to an earlier rollout.
`

func documents() []search.Document {
	var out []search.Document
	for line := range strings.Lines(strings.TrimSpace(catalog)) {
		name, comment, _ := strings.Cut(strings.TrimSpace(line), ": ")
		out = append(out, search.Document{Name: name, Description: comment, Arguments: []string{"page_size"}})
	}
	return out
}

func names(hits []search.Hit) []string {
	var out []string
	for _, h := range hits {
		out = append(out, h.Name)
	}
	return out
}

// What people ask for is among the first three, and mostly the first.
func TestQuality(t *testing.T) {
	t.Parallel()
	x := search.New(documents())
	first := 0
	tests := []struct{ query, want string }{
		{"create a book", "Library_CreateBook"},
		{"add a new book to a shelf", "Library_CreateBook"},
		{"list vms in a zone", "Instances_List"},
		{"show all books", "Library_ListBooks"},
		{"lend a book", "Library_CheckOutBook"},
		{"borrow book checkout", "Library_CheckOutBook"},
		{"remove a book", "Library_DeleteBook"},
		{"change the title of a book", "Library_UpdateBook"},
		{"shut down an instance", "Instances_Stop"},
		{"stop a virtual machine", "Instances_Stop"},
		{"starting instances", "Instances_Start"},
		{"new VM", "Instances_Insert"},
		{"make a disk larger resize", "Disks_Resize"},
		{"snapshot of disk", "Disks_CreateSnapshot"},
		{"list firewalls", "Firewalls_List"},
		{"publish a message", "Publisher_Publish"},
		{"delete a pubsub topic", "Publisher_DeleteTopic"},
		{"read object", "Storage_ReadObject"},
		{"upload a file object", "Storage_WriteObject"},
		{"set iam policy on a bucket", "Storage_SetIamPolicy"},
		{"who has access to a bucket?", "Storage_GetIamPolicy"},
		{"add secret version", "SecretManager_AddSecretVersion"},
		{"read the secret data", "SecretManager_AccessSecretVersion"},
		{"create kubernetes cluster", "ClusterManager_CreateCluster"},
		{"scale node pool size", "ClusterManager_SetNodePoolSize"},
		{"tail logs", "Logging_TailLogEntries"},
		{"log entries write", "Logging_WriteLogEntries"},
		{"cancel long-running operation", "Operations_CancelOperation"},
		{"text to speech", "TextToSpeech_SynthesizeSpeech"},
		{"transcribe audio", "Speech_Recognize"},
		{"translate text", "Translation_TranslateText"},
		{"detect faces in an image", "Vision_AnnotateImage"},
		{"get an invoice", "Billing_GetInvoice"},
		{"invite somebody", "Users_InviteUser"},
		{"forgot password reset", "Users_ResetPassword"},
		{"http routes", "HTTPRouteService_CreateHTTPRoute"},
		{"roll back rollout", "Rollouts_RollbackTarget"},
		{"ListBooks", "Library_ListBooks"},
		{"library_listbooks", "Library_ListBooks"},
		{"LIBRARY list BOOKS", "Library_ListBooks"},
		{"shelv", "Library_ListShelves"},
		{"snap", "Disks_CreateSnapshot"},
	}
	for _, tt := range tests {
		hits, _ := x.Search(tt.query, 3)
		if len(hits) > 0 && hits[0].Name == tt.want {
			first++
		}
		if !slices.Contains(names(hits), tt.want) {
			hits, _ = x.Search(tt.query, 8)
			t.Errorf("%q: want %s, got %q", tt.query, tt.want, names(hits))
		}
	}
	if first*10 < len(tests)*8 {
		t.Errorf("only %d of %d queries have the wanted tool first", first, len(tests))
	}
	t.Logf("%d of %d first", first, len(tests))
}

func TestSearch(t *testing.T) {
	t.Parallel()
	x := search.New(documents())
	all, total := x.Search("", 1000)
	if total != x.Len() || len(all) != total {
		t.Errorf("an empty query finds %d of %d", len(all), total)
	}
	if got, want := names(all[:3]), []string{"Billing_GetInvoice", "ClusterManager_CreateCluster", "Disks_CreateSnapshot"}; !slices.Equal(got, want) {
		t.Errorf("an empty query begins with %q, want %q", got, want)
	}
	for _, tt := range []struct {
		query string
		limit int
		want  int
	}{
		{" \t,. ", 5, 5}, {"zyxw", 5, 0}, {"zyxw book", 5, 5}, {"book", 0, 0}, {"book", -1, 0}, {"", 0, 0}, {"book", 2, 2},
		{strings.Repeat("zyxw", 1000), 5, 0}, {strings.Repeat("\xff", 100), 5, 5},
	} {
		if hits, total := x.Search(tt.query, tt.limit); len(hits) != tt.want || total < tt.want {
			t.Errorf("%q, %d: %d hits of %d, want %d", tt.query, tt.limit, len(hits), total, tt.want)
		}
	}
	hits, total := x.Search("book", 100)
	if len(hits) != total || !slices.IsSortedFunc(hits, func(a, b search.Hit) int { return int(b.Score*1000) - int(a.Score*1000) }) {
		t.Errorf("%d hits of %d: %v", len(hits), total, hits)
	}
	for n := range total {
		if some, _ := x.Search("book", n); !slices.Equal(some, hits[:n]) {
			t.Errorf("the first %d are others", n)
		}
	}
	if documents()[hits[0].Document].Name != hits[0].Name {
		t.Error("a hit names another document")
	}
	if hits, total := search.New(nil).Search("book", 5); hits != nil || total != 0 {
		t.Errorf("nothing has %v", hits)
	}
}

func TestUnicode(t *testing.T) {
	t.Parallel()
	x := search.New([]search.Document{
		{Name: "A_Create", Description: "本を作成する"},
		{Name: "B_Delete", Description: "本を削除する"},
		{Name: "C_Größe", Description: "Ändert die GRÖSSE. Привет, Мир!"},
		{Name: "D_\xff\xfe", Title: "b\xffad", Description: strings.Repeat("ü", 10_000), Arguments: []string{"", "\x00"}},
	})
	for query, want := range map[string]string{"削除": "B_Delete", "作成": "A_Create", "größe": "C_Größe", "ändert": "C_Größe", "привет": "C_Größe"} {
		if hits, _ := x.Search(query, 1); len(hits) != 1 || hits[0].Name != want {
			t.Errorf("%q: %v, want %s", query, hits, want)
		}
	}
}

func TestConcurrent(t *testing.T) {
	t.Parallel()
	x := search.New(documents())
	want, _ := x.Search("list books", 10)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got, _ := x.Search("list books", 10); !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
	wg.Wait()
}

func FuzzSearch(f *testing.F) {
	f.Add("CreateBooks_v1", "Creates HTTPRoutes.", "create a book")
	f.Add("ÄÖ本ß", "VMs of ABCs", "\xff")
	f.Fuzz(func(t *testing.T, name, description, query string) {
		x := search.New([]search.Document{{Name: name, Description: description}, {Name: "other", Arguments: []string{query}}})
		hits, total := x.Search(query, 5)
		again, _ := x.Search(query, 5)
		if !slices.Equal(hits, again) || len(hits) > total || total > 2 {
			t.Errorf("%v, then %v, of %d", hits, again, total)
		}
		if strings.TrimSpace(name) == name && utf8.ValidString(name) && len(name) < 100 {
			if hits, total := x.Search(name, 2); total > 0 && len(hits) == 2 && hits[0].Score > 1000 && !strings.EqualFold(hits[0].Name, name) {
				t.Errorf("%q finds %v", name, hits)
			}
		}
	})
}

// many returns as many documents as Google's public APIs have methods.
func many() []search.Document {
	verbs := []string{"Create", "Get", "List", "Update", "Delete", "Import", "Export", "Watch"}
	var out []search.Document
	for i := range 13_458 {
		verb, noun := verbs[i%len(verbs)], fmt.Sprintf("Thing%c%c", 'A'+i/8%26, 'a'+i/208%26)
		out = append(out, search.Document{
			Name:        fmt.Sprintf("Service%d_%s%s", i/50, verb, noun),
			Title:       verb + " " + noun,
			Description: strings.Repeat(fmt.Sprintf("%ss a %s in the project number %d, and says what became of it. ", verb, noun, i%977), 3),
			Arguments:   []string{"parent", "page_size", "page_token", "filter", noun + "_id"},
		})
	}
	return out
}

func BenchmarkNew(b *testing.B) {
	docs := many()
	b.ReportAllocs()
	for b.Loop() {
		search.New(docs)
	}
}

func BenchmarkSearch(b *testing.B) {
	x := search.New(many())
	for _, query := range []string{"create a thing", "list thingAb in the project", "s", "nothing of the kind", ""} {
		b.Run(query, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x.Search(query, 20)
			}
		})
	}
}

func TestServices(t *testing.T) {
	t.Parallel()
	got := search.New([]search.Document{{Name: "a_D"}, {Name: "a_B_C"}, {Name: "a_A"}, {Name: "read_file"}, {Name: "x_GetX"}}).Services()
	if want := []search.Service{{Name: "a", Documents: 2}, {Name: "a_B", Documents: 1}, {Name: "x", Documents: 1}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestVerbs: a tool that does something else to the right thing is not the best one.
func TestVerbs(t *testing.T) {
	t.Parallel()
	x := search.New([]search.Document{
		{Name: "Auth_UserAdd"}, {Name: "Auth_UserDelete"}, {Name: "Auth_UserGrantRole"}, {Name: "Auth_UserRevokeRole"}, {Name: "Auth_UserList"}, {Name: "Auth_UserGet"},
		{Name: "Auth_RoleGrantPermission"}, {Name: "Auth_CheckPermission"}, {Name: "Auth_UserCount"}, {Name: "Auth_Enable"}, {Name: "Auth_Disable"},
	})
	for query, want := range map[string]string{
		"create a user":                 "Auth_UserAdd",
		"get rid of a user":             "Auth_UserDelete",
		"take a role away from a user":  "Auth_UserRevokeRole",
		"which users are there?":        "Auth_UserList",
		"how many users are there?":     "Auth_UserCount",
		"show me a user":                "Auth_UserGet",
		"can bob delete this?":          "Auth_CheckPermission",
		"turn it off":                   "Auth_Disable",
		"give the role new permissions": "Auth_RoleGrantPermission",
		"how":                           "",
		"zyxw":                          "",
	} {
		hits, _ := x.Search(query, 1)
		got := ""
		if len(hits) > 0 {
			got = hits[0].Name
		}
		if got != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
}
