package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	evalv1 "github.com/mcp-bridge/mcp-bridge/gen/eval/v1"
	"github.com/mcp-bridge/mcp-bridge/gen/eval/v1/evalv1connect"
)

// world is the state of the backends during one task. Every task has one of its own,
// the same at the start. It is used concurrently.
type world struct {
	mu sync.Mutex
	// grants are the relations that there are, and stale those that a check sees that
	// names no token. writes counts changes: tokens name it.
	grants, stale map[string]bool
	writes        int
	fresh         bool // the last check named the newest token
	checks        int
	contacts      map[string]*evalv1.Contact
	nextContact   int
	blobs         map[string][]byte
	// reached counts the calls that have come as far as the backends.
	reached int
}

// newWorld returns the world as every task finds it.
func newWorld() *world {
	w := &world{
		grants:   make(map[string]bool),
		contacts: make(map[string]*evalv1.Contact),
		blobs:    map[string][]byte{"motto": []byte("carpe diem"), "notes/1": []byte("buy milk"), "key": {0xff, 0x00, 0x10}},
	}
	for _, t := range []*evalv1.Tuple{
		tuple("user", "alice", evalv1.Relation_RELATION_WRITER, "plan"),
		tuple("user", "bob", evalv1.Relation_RELATION_READER, "plan"),
		tuple("user", "dave", evalv1.Relation_RELATION_READER, "budget"),
		tuple("group", "eng", evalv1.Relation_RELATION_READER, "plan"),
	} {
		w.grants[keyOf(t)] = true
	}
	w.stale = maps.Clone(w.grants)
	for i, c := range []*evalv1.Contact{
		{Name: "Ada Berg", Address: &evalv1.Address{Street: "Storgata 1", City: "Oslo", Country: "NO"}, Labels: []string{"vip", "press"}},
		{Name: "Ben Cole", Address: &evalv1.Address{Street: "High Street 2", City: "Leeds", Country: "GB"}, Labels: []string{"vip"}},
		{Name: "Cleo Dahl", Address: &evalv1.Address{Street: "Torget 3", City: "Bergen", Country: "NO"}},
		{Name: "Dora Ek", Address: &evalv1.Address{Street: "Kungsgatan 4", City: "Malmö", Country: "SE"}},
		{Name: "Emil Foss", Address: &evalv1.Address{Street: "Kaia 5", City: "Bodø", Country: "NO"}, Labels: []string{"press"}},
		{Name: "Fay Gray", Address: &evalv1.Address{Street: "Mill Lane 6", City: "York", Country: "GB"}},
		{Name: "Gro Holm", Address: &evalv1.Address{Street: "Havna 7", City: "Tromsø", Country: "NO"}},
		{Name: "Hugo Ibsen", Address: &evalv1.Address{Street: "Torvet 8", City: "Aarhus", Country: "DK"}},
	} {
		c.Id = "c" + strconv.Itoa(i+1)
		w.contacts[c.Id] = c
	}
	w.nextContact = len(w.contacts) + 1
	return w
}

// handler serves the services of the world.
func (w *world) handler() http.Handler {
	count := connect.WithInterceptors(connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.reached++
			return next(ctx, r)
		}
	}))
	mux := http.NewServeMux()
	mux.Handle(evalv1connect.NewAccessServiceHandler(accessService{w}, count))
	mux.Handle(evalv1connect.NewContactServiceHandler(contactService{w}, count))
	mux.Handle(evalv1connect.NewBlobServiceHandler(blobService{w}, count))
	return mux
}

// services are the names of the services of a world.
var services = []string{evalv1connect.AccessServiceName, evalv1connect.ContactServiceName, evalv1connect.BlobServiceName}

// tuple returns a tuple.
func tuple(kind, id string, relation evalv1.Relation, document string) *evalv1.Tuple {
	return &evalv1.Tuple{Subject: &evalv1.Subject{Type: kind, Id: id}, Relation: relation, Document: document}
}

// keyOf returns a tuple as text.
func keyOf(t *evalv1.Tuple) string {
	return fmt.Sprintf("%s:%s %s %s", t.GetSubject().GetType(), t.GetSubject().GetId(), t.GetRelation(), t.GetDocument())
}

// The methods of the services run one at a time: handler holds the lock of the world.

type accessService struct{ *world }

// checkTuple reports a tuple that says too little.
func checkTuple(t *evalv1.Tuple) error {
	if kind := t.GetSubject().GetType(); kind != "user" && kind != "group" {
		return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("tuple.subject.type is %q, want user or group", kind))
	}
	if t.GetSubject().GetId() == "" || t.GetDocument() == "" || t.GetRelation() == evalv1.Relation_RELATION_UNSPECIFIED {
		return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("tuple.subject.id, tuple.relation and tuple.document must be set"))
	}
	return nil
}

func (w accessService) CheckAccess(_ context.Context, r *evalv1.CheckAccessRequest) (*evalv1.CheckAccessResponse, error) {
	if err := checkTuple(r.GetTuple()); err != nil {
		return nil, err
	}
	w.checks++
	grants := w.stale
	w.fresh = false
	if token := r.GetFreshAsOf(); token != "" {
		n, ok := readToken(token)
		if !ok || n > w.writes {
			return nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("fresh_as_of is not a token that written_at has had"))
		}
		grants, w.fresh = w.grants, n == w.writes
	}
	allowed := grants[keyOf(r.GetTuple())]
	if r.GetTuple().GetRelation() == evalv1.Relation_RELATION_READER { // who may write may read
		as := proto.CloneOf(r.GetTuple())
		as.Relation = evalv1.Relation_RELATION_WRITER
		allowed = allowed || grants[keyOf(as)]
	}
	return &evalv1.CheckAccessResponse{Allowed: allowed}, nil
}

func (w accessService) GrantAccess(_ context.Context, r *evalv1.GrantAccessRequest) (*evalv1.GrantAccessResponse, error) {
	if err := checkTuple(r.GetTuple()); err != nil {
		return nil, err
	}
	w.grants[keyOf(r.GetTuple())] = true
	w.writes++
	return &evalv1.GrantAccessResponse{WrittenAt: token(w.writes)}, nil
}

func (w accessService) RevokeAccess(_ context.Context, r *evalv1.RevokeAccessRequest) (*evalv1.RevokeAccessResponse, error) {
	if err := checkTuple(r.GetTuple()); err != nil {
		return nil, err
	}
	delete(w.grants, keyOf(r.GetTuple()))
	w.writes++
	return &evalv1.RevokeAccessResponse{WrittenAt: token(w.writes)}, nil
}

// token and readToken are opaque tokens for numbers.
func token(n int) string { return "zk-" + strconv.FormatInt(int64(n)*7919+104729, 36) }

func readToken(s string) (int, bool) {
	n, err := strconv.ParseInt(strings.TrimPrefix(s, "zk-"), 36, 64)
	if err != nil || !strings.HasPrefix(s, "zk-") || n < 104729 || (n-104729)%7919 != 0 {
		return 0, false
	}
	return int(n-104729) / 7919, true
}

type contactService struct{ *world }

// contact returns a contact, which is not to be changed.
func (w contactService) contact(id string) (*evalv1.Contact, error) {
	if c := w.contacts[id]; c != nil {
		return c, nil
	}
	return nil, connect.NewError(connect.CodeNotFound, fmt.Errorf("there is no contact %q", id))
}

func (w contactService) GetContact(_ context.Context, r *evalv1.GetContactRequest) (*evalv1.GetContactResponse, error) {
	c, err := w.contact(r.GetId())
	return &evalv1.GetContactResponse{Contact: c}, err
}

// maxPage is how many contacts a page has at most.
const maxPage = 3

func (w contactService) ListContacts(_ context.Context, r *evalv1.ListContactsRequest) (*evalv1.ListContactsResponse, error) {
	size := int(r.GetPageSize())
	if size <= 0 || size > maxPage {
		size = maxPage
	}
	ids := slices.Sorted(maps.Keys(w.contacts))
	at := 0
	if t := r.GetPageToken(); t != "" {
		n, ok := readToken(t)
		if !ok || n > len(ids) {
			return nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("page_token is not one that next_page_token has had"))
		}
		at = n
	}
	out := &evalv1.ListContactsResponse{}
	for _, id := range ids[at:min(at+size, len(ids))] {
		out.Contacts = append(out.Contacts, w.contacts[id])
	}
	if at+size < len(ids) {
		out.NextPageToken = token(at + size)
	}
	return out, nil
}

func (w contactService) CreateContact(_ context.Context, r *evalv1.CreateContactRequest) (*evalv1.CreateContactResponse, error) {
	c := proto.CloneOf(r.GetContact())
	if c.GetName() == "" {
		return nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("contact.name must be set"))
	}
	c.Id = "c" + strconv.Itoa(w.nextContact)
	w.nextContact++
	w.contacts[c.GetId()] = c
	return &evalv1.CreateContactResponse{Contact: c}, nil
}

func (w contactService) UpdateContact(_ context.Context, r *evalv1.UpdateContactRequest) (*evalv1.UpdateContactResponse, error) {
	old, err := w.contact(r.GetContact().GetId())
	if err != nil {
		return nil, err
	}
	c, from := proto.CloneOf(old), r.GetContact()
	if c.Address == nil {
		c.Address = &evalv1.Address{}
	}
	paths := r.GetUpdateMask().GetPaths()
	if len(paths) == 0 {
		paths = []string{"name", "address", "labels", "archived"}
	}
	for _, path := range paths {
		switch path {
		case "name":
			c.Name = from.GetName()
		case "address":
			c.Address = proto.CloneOf(from.GetAddress())
		case "address.street":
			c.Address.Street = from.GetAddress().GetStreet()
		case "address.city":
			c.Address.City = from.GetAddress().GetCity()
		case "address.country":
			c.Address.Country = from.GetAddress().GetCountry()
		case "labels":
			c.Labels = from.GetLabels()
		case "archived":
			c.Archived = from.GetArchived()
		default: // as many servers do
		}
	}
	w.contacts[c.GetId()] = c
	return &evalv1.UpdateContactResponse{Contact: c}, nil
}

func (w contactService) ArchiveContact(_ context.Context, r *evalv1.ArchiveContactRequest) (*evalv1.ArchiveContactResponse, error) {
	old, err := w.contact(r.GetId())
	if err != nil {
		return nil, err
	}
	c := proto.CloneOf(old)
	c.Archived = true
	w.contacts[c.GetId()] = c
	return &evalv1.ArchiveContactResponse{}, nil
}

func (w contactService) DeleteContact(_ context.Context, r *evalv1.DeleteContactRequest) (*evalv1.DeleteContactResponse, error) {
	if _, err := w.contact(r.GetId()); err != nil {
		return nil, err
	}
	delete(w.contacts, r.GetId())
	return &evalv1.DeleteContactResponse{}, nil
}

type blobService struct{ *world }

func (w blobService) PutBlob(_ context.Context, r *evalv1.PutBlobRequest) (*evalv1.PutBlobResponse, error) {
	if r.GetKey() == "" {
		return nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("key must be set"))
	}
	w.blobs[r.GetKey()] = r.GetValue()
	return &evalv1.PutBlobResponse{}, nil
}

func (w blobService) GetBlob(_ context.Context, r *evalv1.GetBlobRequest) (*evalv1.GetBlobResponse, error) {
	value, ok := w.blobs[r.GetKey()]
	if !ok {
		return nil, connect.NewError(connect.CodeNotFound, fmt.Errorf("there is no blob %q", r.GetKey()))
	}
	return &evalv1.GetBlobResponse{Value: value}, nil
}

func (w blobService) DeleteBlob(_ context.Context, r *evalv1.DeleteBlobRequest) (*evalv1.DeleteBlobResponse, error) {
	out := &evalv1.DeleteBlobResponse{}
	if _, ok := w.blobs[r.GetKey()]; ok {
		delete(w.blobs, r.GetKey())
		out.Deleted = 1
	}
	return out, nil
}
