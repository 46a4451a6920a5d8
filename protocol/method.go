package protocol

import "github.com/mcp-bridge/mcp-bridge/internal/clip"

// Methods and notifications that the code names.
const (
	MethodInitialize         = "initialize"
	MethodDiscover           = "server/discover"
	MethodPing               = "ping"
	MethodListTools          = "tools/list"
	MethodCallTool           = "tools/call"
	MethodListResources      = "resources/list"
	MethodListTemplates      = "resources/templates/list"
	MethodReadResource       = "resources/read"
	MethodSubscribe          = "resources/subscribe"
	MethodUnsubscribe        = "resources/unsubscribe"
	MethodListPrompts        = "prompts/list"
	MethodGetPrompt          = "prompts/get"
	MethodComplete           = "completion/complete"
	MethodSetLevel           = "logging/setLevel"
	MethodListen             = "subscriptions/listen"
	MethodGetTask            = "tasks/get"
	MethodUpdateTask         = "tasks/update"
	MethodCancelTask         = "tasks/cancel"
	MethodListTasks          = "tasks/list"
	MethodTaskResult         = "tasks/result"
	MethodElicit             = "elicitation/create"
	MethodSample             = "sampling/createMessage"
	MethodListRoots          = "roots/list"
	NotificationInitialized  = "notifications/initialized"
	NotificationCancelled    = "notifications/cancelled"
	NotificationProgress     = "notifications/progress"
	NotificationMessage      = "notifications/message"
	NotificationAcknowledged = "notifications/subscriptions/acknowledged"
	NotificationToolsChanged = "notifications/tools/list_changed"

	NotificationResourcesChanged = "notifications/resources/list_changed"
	NotificationResourceUpdated  = "notifications/resources/updated"
	NotificationPromptsChanged   = "notifications/prompts/list_changed"
	NotificationTask             = "notifications/tasks"
	NotificationTaskStatus       = "notifications/tasks/status"         // 2025-11-25
	NotificationElicited         = "notifications/elicitation/complete" // 2025-11-25
)

// ExtensionTasks is the identifier of the tasks extension, a member of the
// extensions in the capabilities of clients and servers.
const ExtensionTasks = "io.modelcontextprotocol/tasks"

// MethodInfo says what the specification says of a request that a client may
// send.
type MethodInfo struct {
	// Since and Until are the first and the last revision that have the
	// method. An empty Until means that the newest still has it.
	Since, Until Revision
	// NameParam is the member of params that the HTTP header Mcp-Name
	// mirrors, or empty (basic/transports/streamable-http, Standard Request
	// Headers).
	NameParam string
}

var methods = map[string]MethodInfo{
	MethodInitialize:    {Since: Revision20241105, Until: LatestLegacy},
	MethodPing:          {Since: Revision20241105, Until: LatestLegacy},
	MethodSetLevel:      {Since: Revision20241105, Until: LatestLegacy},
	MethodSubscribe:     {Since: Revision20241105, Until: LatestLegacy},
	MethodUnsubscribe:   {Since: Revision20241105, Until: LatestLegacy},
	MethodListTools:     {Since: Revision20241105},
	MethodCallTool:      {Since: Revision20241105, NameParam: "name"},
	MethodListResources: {Since: Revision20241105},
	MethodListTemplates: {Since: Revision20241105},
	MethodReadResource:  {Since: Revision20241105, NameParam: "uri"},
	MethodListPrompts:   {Since: Revision20241105},
	MethodGetPrompt:     {Since: Revision20241105, NameParam: "name"},
	MethodComplete:      {Since: Revision20241105},
	MethodListTasks:     {Since: Revision20251125, Until: Revision20251125},
	MethodTaskResult:    {Since: Revision20251125, Until: Revision20251125},
	MethodGetTask:       {Since: Revision20251125, NameParam: "taskId"},
	MethodCancelTask:    {Since: Revision20251125, NameParam: "taskId"},
	MethodUpdateTask:    {Since: Revision20260728, NameParam: "taskId"},
	MethodDiscover:      {Since: Revision20260728},
	MethodListen:        {Since: Revision20260728},
}

// LookupMethod returns what is known of a method, and false for a method that
// no revision defines.
func LookupMethod(name string) (MethodInfo, bool) {
	m, ok := methods[name]
	return m, ok
}

// MethodIn reports whether a request may use the method in revision r. It is
// true of methods that no revision defines: those are extensions, and their
// Handler's affair.
func MethodIn(name string, r Revision) bool {
	m, ok := methods[name]
	if !ok {
		return true
	}
	return m.Since <= r && (m.Until == "" || r <= m.Until)
}

// MethodNotFound returns the error for a method that is not served.
func MethodNotFound(method string) *Error {
	return Errorf(CodeMethodNotFound, "method %q is not available", clip.Name(method))
}

// TakesInput reports whether the result of a method may be input_required
// (basic/patterns/mrtr, Supported Requests).
func TakesInput(method string) bool {
	switch method {
	case MethodCallTool, MethodGetPrompt, MethodReadResource:
		return true
	}
	return false
}
