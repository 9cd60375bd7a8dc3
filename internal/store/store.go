// Package store keeps state files: bytes by workspace, and a lock.
//
// A Store has five methods and its Capabilities. It does not interpret the bytes, so encryption and retrying
// are stores around stores, and every store passes the same tests (package storetest). A Driver
// distinguishes stores for users: it has a name, a schema for its settings, and a function
// that opens a store.
//
// Two things keep writers apart. The lock names the command in progress, and is for people: it can be
// switched off, and it can be broken. The Version is for correctness: a Put names the content that it
// replaces, and fails if the store has another content. Nothing switches that off.
//
// The local store is in this package. Stores that need more than files are in separate packages.
package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"time"
)

// Default is the workspace that always exists.
const Default = "default"

// Version identifies the content of a store: an ETag, a generation, a checksum. It is meaningless outside that store.
// "" means that there is no content.
type Version string

// Digest is a version for stores whose services have none: the SHA-256 of a state, in hexadecimal.
func Digest(data []byte) Version {
	sum := sha256.Sum256(data)
	return Version(hex.EncodeToString(sum[:]))
}

// Store keeps the state of any number of workspaces. It may be used from many goroutines.
type Store interface {
	// Get returns a workspace's state, and nil with the Version "" if the workspace has no state.
	Get(ctx context.Context, workspace string) ([]byte, Version, error)
	// Put replaces the state that was of version prev ("": there was none). If it is not of that
	// version any more the error is a *StaleError, and nothing was written. After any error the
	// old state is whole. The workspace exists from then on.
	Put(ctx context.Context, workspace string, data []byte, prev Version) (Version, error)
	// Delete removes a workspace and its state. Default is never removed.
	Delete(ctx context.Context, workspace string) error
	// List names the workspaces, Default first and the others sorted.
	List(ctx context.Context) ([]string, error)
	// Lock takes the lock of a workspace. The workspace need not exist, and Lock does not create it. If another holds
	// the lock, the error is a *LockError; Lock does not wait (Acquire does). unlock may be called once; it works even
	// if the context of Lock has ended.
	Lock(ctx context.Context, workspace string, who LockInfo) (unlock func(context.Context) error, err error)
	// Capabilities returns the optional abilities of the store, the same each time.
	Capabilities() Capabilities
}

// Capabilities are the optional abilities of a store. A nil member means that the store lacks the ability.
//
// A store around another builds its own value from the value of the other. The encrypting store (package crypt)
// forwards only the members that it names: a new capability is missing there until someone has decided whether it
// carries plain states.
//
// Which store has which:
//
//	                                    Breaker Files Place Sealer History Journals Parts
//	local                               yes     yes   yes   -      yes     -        -
//	s3                                  yes     -     yes   -      -       journal  -
//	gcs, azurerm, consul, kubernetes    yes     -     yes   -      -       -        -
//	http, remote, cloud                 yes     -     yes   -      -       -        -
//	a state store of a provider         yes     -     yes   -      -       -        -
//	pg                                  yes     -     yes   -      rows    journal  rows
//	inmem                               yes     -     -     -      -       -        -
//	with encryption                     as the store within without Parts, and Sealer
//
// "journal" and "rows" mean: with that setting. Rewriter comes with History. Policy and Named belong to remote and cloud;
// Migrator, Cursor and NoEncryption to pg; Disabled to pg and s3; Presigner and Finisher to s3; Versioner and Concurrent
// come with Parts. Service belongs to s3, gcs and azurerm.
type Capabilities struct {
	Breaker      Breaker        // locks can be taken from others
	Files        Files          // states are files of this machine
	Place        Locator        // its places can be compared with the places of other stores
	Policy       PolicyChecker  // a service must permit operations
	Named        NamedWorkspace // there is one workspace, which has a name
	Migrator     Migrator       // states may be kept in the place of another store
	NoEncryption NoEncryption   // encrypted states cannot be kept
	Sealer       Sealer         // encrypts states, and can encrypt files beside them
	Versioner    Versioner      // versions can be asked without reading a state

	Concurrent ConcurrentStore // several runs may work on one state
	Parts      PartStore       // parts of a state can be read and written
	History    Historian       // former states are kept
	Rewriter   FormerRewriter  // former states can be changed
	Service    ServiceVersions // the service may keep earlier versions by itself

	Journals  Journaler        // journals of runs are kept
	Disabled  DisabledJournals // journals may be there that the settings do not read
	Cursor    JournalCursor    // knows how much of a journal was replayed
	Presigner JournalPresigner // another process may write a journal
	Finisher  Finisher         // writing a state has several steps
}

// Breaker takes locks from others by their ID.
type Breaker interface {
	// Break releases the lock with that ID. The error is a *LockError if no lock exists, or a lock with another ID.
	// After an error without an answer (UnansweredError) it may be called again.
	Break(ctx context.Context, workspace, id string) error
}

// Files is a store whose states are files of this machine.
type Files interface {
	// File returns the path of a workspace's state. Its journal is beside it.
	File(workspace string) string
	// BackupFile returns the path of the backup, "" if none is written.
	BackupFile(workspace string) string
	// SetAside renames the state of a workspace to the backup: the state is somewhere else from now on.
	SetAside(workspace string) error
	// Override returns the same store with other files for the default workspace: to read, to write, and for the
	// backup.
	Override(in, out, backup string) Store
	// SealBackups makes the store encrypt its backups and former states with seal.
	SealBackups(seal func([]byte) ([]byte, error))
}

// Locator identifies the place of each of its states.
type Locator interface {
	// Place names the place of a workspace's state by the settings, with the defaults of settings that are missing. It
	// contains no credential, and does not depend on who asks.
	Place(workspace string) string
}

// PolicyChecker is a store whose service must permit operations on a workspace.
type PolicyChecker interface {
	// Permit returns an error if an operation is not permitted. runs is true for plans and applies, and false for
	// commands on the state alone. version is the language version of the states that are written, "" if it does not
	// matter.
	Permit(ctx context.Context, workspace string, runs bool, version string) error
}

// NamedWorkspace is a store with one workspace, which has a name.
type NamedWorkspace interface {
	// Only returns that name; "" if it is the default one, or if there are more.
	Only() string
	// Prepare creates the workspace if it is missing.
	Prepare(ctx context.Context) error
}

// Migrator is a store that may keep its states in the place of another, in another form.
type Migrator interface {
	// MigrateFrom returns both stores for moving states from one to the other, if they have one place. A moved state is
	// missing in the source, and another state is missing in the target. Both share the locks of the target. Both
	// stores are nil if the form is the same, so that nothing has to move.
	MigrateFrom(from Store) (source, target Store, ok bool)
}

// NoEncryption is a store that cannot keep encrypted states.
type NoEncryption interface {
	// NoEncryption returns the reason, as the end of a sentence.
	NoEncryption() string
}

// Sealer encrypts.
type Sealer interface {
	// Encrypts reports whether Seal encrypts.
	Encrypts() bool
	Seal(ctx context.Context, plain []byte) ([]byte, error)
	// Open is the opposite of Seal. Plain text is an error if the settings refuse it.
	Open(ctx context.Context, data []byte) ([]byte, error)
	// AcceptsPlain returns an error if files that are not encrypted are refused.
	AcceptsPlain() error
	// Stored returns the state of a workspace and its version as Get does, but without decryption: for reports on a
	// state that Get cannot decrypt.
	Stored(ctx context.Context, workspace string) ([]byte, Version, error)
	// Outdated reports whether a write would encrypt the state of a workspace, at the last reading, in another way.
	Outdated(workspace string) bool
}

// Versioner returns the version of a state without reading it.
type Versioner interface {
	// Version returns the version that Get returns.
	Version(ctx context.Context, workspace string) (Version, error)
}

// Finisher is a store that writes a state in several steps.
type Finisher interface {
	// Finish performs the steps after the first one, if the first one was performed. exists reports whether the state
	// is data. Version is the version of the present state.
	Finish(ctx context.Context, workspace string, data []byte) (v Version, exists bool, err error)
}

// Historian keeps former states.
type Historian interface {
	// History lists the states of a workspace that are kept: the present one, then the others, the latest first.
	History(ctx context.Context, workspace string) ([]Past, error)
	// Former returns the state of an entry of History after the first, in its stored form, which may be encrypted. If only
	// the serial is set, it returns the latest former state with that serial. It returns nil if the state is not kept.
	Former(ctx context.Context, workspace string, p Past) ([]byte, error)
}

// FormerRewriter changes former states, to remove values that must not be stored.
type FormerRewriter interface {
	// RewriteFormer calls rewrite for each former state of a workspace, in its stored form, and replaces the state by the
	// result; nil keeps it. A store that shares objects between states calls it for each object, as a separate state. It
	// returns the number of changed states. A state is replaced whole or not at all. A store without shared objects changes
	// the other states after an error of one.
	RewriteFormer(ctx context.Context, workspace string, rewrite func(serial uint64, stored []byte) ([]byte, error)) (changed int, err error)
}

// ServiceVersions is a store whose service may keep earlier versions of its objects, such as a bucket with versioning.
type ServiceVersions interface {
	// EarlierVersions lists the earlier versions of a workspace's state and of its journals, the latest first. A service
	// without versioning has none.
	EarlierVersions(ctx context.Context, workspace string) ([]ServiceVersion, error)
	// ReadVersion returns the content of a version; nil if it no longer exists.
	ReadVersion(ctx context.Context, workspace string, v ServiceVersion) ([]byte, error)
	// DeleteVersion deletes a version forever, as far as the service permits that. A version that no longer exists is no
	// error.
	DeleteVersion(ctx context.Context, workspace string, v ServiceVersion) error
	// DeleteCommand returns the command of the service's own program that deletes a version.
	DeleteCommand(workspace string, v ServiceVersion) string
}

// ServiceVersion is an earlier version of an object in a service.
type ServiceVersion struct {
	Name     string // of the object
	ID       string // of the version
	Snapshot bool   // a snapshot, where the service distinguishes these from versions
	Journal  bool   // the object is a part of a journal, not a state
	Time     time.Time
}

// Past is a state that was, or is.
type Past struct {
	Serial    uint64
	Lineage   string
	Time      time.Time // when it was written
	Who       string    // wrote it: user@host; "": not known
	Operation string    // the operation, as in locks; "": unknown
	Counts    *Counts   // nil: nothing has counted
	Writing   int64     // the number that the store gave to this state; 0 if its serial and time identify it

	// Overridden lists the protected objects that the run destroyed because of -allow-destroy. No store fills it: the states
	// have it.
	Overridden []string
}

// Counts are the numbers of objects in which a state differs from the state before it.
type Counts struct{ Added, Changed, Removed int }

// Journaler keeps the journals of runs. A journal is encrypted by who writes it.
type Journaler interface {
	// Note adds to the journal of the run that has the lock of a workspace, from a position on. Bytes that are there
	// already may come again. Without data it is a sign of life, which a run sends every LifeSign.
	Note(ctx context.Context, workspace string, at int64, data []byte) error
	// Orphaned returns the journals of runs that ended without dropping theirs. If the connection of a run is closed,
	// it waits for a sign of life. A caller without a lock may also get the journal of the run that has it.
	Orphaned(ctx context.Context, workspace string) ([]OrphanedJournal, error)
	// Drop removes the journal of a run: "" for the run that has the lock.
	Drop(ctx context.Context, workspace, run string) error
}

// LifeSign is the interval at which a run that records nothing shows that it is still in progress.
const LifeSign = 2 * time.Second

// OrphanedJournal is the journal of a run.
type OrphanedJournal struct {
	Run  string // names it, for Drop
	Data []byte
	Held bool // the run has the lock: it is in progress, or its lock must be broken
}

// DisabledJournals is a store that can keep journals, and does not with its settings. Journals of runs with other
// settings may be there.
type DisabledJournals interface {
	// WithJournals returns the workspaces with such journals, and the environment variable that makes commands take
	// them in. It returns none if the user may not look.
	WithJournals(ctx context.Context) (workspaces []string, variable string, err error)
}

// JournalCursor stores how much of a journal was replayed.
type JournalCursor interface {
	// SetReplayed stores the number of replayed records of a journal. name is the name of the journal, not of a lock.
	SetReplayed(ctx context.Context, workspace, name string, records uint32) error
	// Replayed returns that number; 0 if nothing is known.
	Replayed(ctx context.Context, workspace, name string) (uint32, error)
}

// JournalPresigner lets another process write a journal.
type JournalPresigner interface {
	// Presign returns a request for the run that has the lock of a workspace. The request writes one object of that
	// run, for a limited time, and does nothing else.
	Presign(ctx context.Context, workspace string) (*PresignedRequest, error)
}

// PresignedRequest is a signed request without its body, which was not made. Who has it can make it.
type PresignedRequest struct {
	Method, URL string
	Header      http.Header
}

// PartStore is a store that reads and writes a part of a state: the objects of some resources, by their addresses
// without keys, with all outputs and results of conditions. A part is a state without other objects.
type PartStore interface {
	// Review returns the resources of a state, and those of them that need no work. The error is ErrNotPartial for a
	// state without parts, such as a state that does not exist yet.
	Review(ctx context.Context, workspace string, stamps map[string]Stamp) (*Review, error)
	// GetPart is Get for a part. The version is the version of the whole state.
	GetPart(ctx context.Context, workspace string, resources []string) ([]byte, Version, error)
	// PutPart is Put for a part and for stamps. After an error that leaves open whether the state was written, the
	// version is the one that the state then has; "" if no request was made that would have written it.
	PutPart(ctx context.Context, workspace string, p Part, prev Version) (Version, error)
}

// Part is the part of a state that is written.
type Part struct {
	Whole     bool             // Data is all of it
	Resources []string         // the resources that Data has, or had
	Data      []byte           // nil: nothing changes but stamps
	Stamps    map[string]Stamp // of those for which a run left nothing to do
}

// Stamp identifies the sources of a resource, an output or a condition: its configuration, and the resources that it
// uses. A store keeps a digest of the stamp and of the objects of these resources. The digest stays the same until one
// of them changes.
type Stamp struct {
	Config string   // a digest of the configuration
	Of     []string // the resources that it refers to
}

// Review is the answer of PartStore.Review: the resources of a state, and those of them that agree with their stamps.
type Review struct {
	Version   Version
	Resources []string        // that have objects, sorted
	Same      map[string]bool // the resources whose stored stamps are the given ones
}

// OutputStamp is the name of the stamp of a root output.
func OutputStamp(name string) string { return "output " + name }

// ConditionsStamp returns the name of the stamp of a declaration that has conditions and no rows: a check block, or an
// output or a variable of a module.
func ConditionsStamp(address string) string { return "conditions of " + address }
