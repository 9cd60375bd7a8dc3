package cli

// aliases are other names of commands.
var aliases = map[string]string{
	"state ls": "state list", "state move": "state mv", "state remove": "state rm",
	"env": "workspace", "env show": "workspace show",
	"env list": "workspace list", "env new": "workspace new", "env select": "workspace select", "env delete": "workspace delete",
}

// gone are commands that the peers have had, with what they say about them.
var gone = map[string]string{
	"push": "It pushed a configuration to a service that has reached its end of life. Use the API of the service that has taken its place.",
}

// commands are all commands, in the order in which help lists them.
func commands() []*Command {
	return []*Command{
		initCommand, validateCommand, planCommand, applyCommand, destroyCommand,
		consoleCommand, explainCommand, fmtCommand, forceUnlockCommand, getCommand, graphCommand, importCommand,
		metadataCommand, outputCommand, providersCommand, providersSchemaCommand, refreshCommand, showCommand,
		stateListCommand, stateMvCommand, statePullCommand, statePushCommand, stateReplaceProviderCommand,
		stateRmCommand, stateShowCommand, taintCommand, untaintCommand, versionCommand,
		workspaceDeleteCommand, workspaceListCommand, workspaceNewCommand, workspaceSelectCommand, workspaceShowCommand,
		helpCommand,
	}
}
