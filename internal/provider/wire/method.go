package wire

// method identifies a call of the protocol, such as PlanResourceChange.
type method uint8

const (
	getSchema method = iota
	getIdentities
	validateProvider
	configure
	validateResource
	validateData
	validateEphemeral
	upgradeResource
	upgradeIdentity
	readResource
	planResource
	applyResource
	importResource
	moveResource
	readData
	getFunctions
	callFunction
	openEphemeral
	renewEphemeral
	closeEphemeral
	listResource
	validateList
	validateAction
	planAction
	invokeAction
	validateStore
	configureStore
	readState
	writeState
	lockState
	unlockState
	getStates
	deleteState
	stopProvider
	methodCount
)

// names has the names of the calls in each major version of the protocol. If v5 is empty, the name in version 5 is the
// same as in version 6.
var names = [methodCount]struct{ v6, v5 string }{
	getSchema:         {"GetProviderSchema", "GetSchema"},
	getIdentities:     {v6: "GetResourceIdentitySchemas"},
	validateProvider:  {"ValidateProviderConfig", "PrepareProviderConfig"},
	configure:         {"ConfigureProvider", "Configure"},
	validateResource:  {"ValidateResourceConfig", "ValidateResourceTypeConfig"},
	validateData:      {"ValidateDataResourceConfig", "ValidateDataSourceConfig"},
	validateEphemeral: {v6: "ValidateEphemeralResourceConfig"},
	upgradeResource:   {v6: "UpgradeResourceState"},
	upgradeIdentity:   {v6: "UpgradeResourceIdentity"},
	readResource:      {v6: "ReadResource"},
	planResource:      {v6: "PlanResourceChange"},
	applyResource:     {v6: "ApplyResourceChange"},
	importResource:    {v6: "ImportResourceState"},
	moveResource:      {v6: "MoveResourceState"},
	readData:          {v6: "ReadDataSource"},
	getFunctions:      {v6: "GetFunctions"},
	callFunction:      {v6: "CallFunction"},
	openEphemeral:     {v6: "OpenEphemeralResource"},
	renewEphemeral:    {v6: "RenewEphemeralResource"},
	closeEphemeral:    {v6: "CloseEphemeralResource"},
	listResource:      {v6: "ListResource"},
	validateList:      {v6: "ValidateListResourceConfig"},
	validateAction:    {v6: "ValidateActionConfig"},
	planAction:        {v6: "PlanAction"},
	invokeAction:      {v6: "InvokeAction"},
	validateStore:     {v6: "ValidateStateStoreConfig"},
	configureStore:    {v6: "ConfigureStateStore"},
	readState:         {v6: "ReadStateBytes"},
	writeState:        {v6: "WriteStateBytes"},
	lockState:         {v6: "LockState"},
	unlockState:       {v6: "UnlockState"},
	getStates:         {v6: "GetStates"},
	deleteState:       {v6: "DeleteState"},
	stopProvider:      {"StopProvider", "Stop"},
}

// table has the full method names of one major version.
type table [methodCount]string

var tables = func() map[int]*table {
	five, six := new(table), new(table)
	for m, n := range names {
		six[m] = "/tfplugin6.Provider/" + n.v6
		if n.v5 == "" {
			n.v5 = n.v6
		}
		five[m] = "/tfplugin5.Provider/" + n.v5
	}
	return map[int]*table{5: five, 6: six}
}()

// short returns the name of a method without the name of the service, such as ReadResource, for messages.
func (t *table) short(m method) string { return t[m][len("/tfplugin6.Provider/"):] }
