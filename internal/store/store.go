// Package store keeps states: bytes by workspace, and a lock for each workspace.
//
// A Store has five methods for states, and optional Capabilities. It does not interpret the bytes. So encryption and
// retrying are stores that wrap another store, and every store passes the same tests (package storetest). A Driver is a
// kind of store that users choose by name: it has a schema for its settings, and a function that opens a store.
//
// Two mechanisms prevent concurrent writers. The lock names the command that works on a workspace. Users can disable
// locking or break a lock. The Version is checked in addition, and cannot be disabled: a Put names the version that it
// replaces, and fails if the store has another version.
//
// The local store and the store in memory are in this package. Stores that use a service are in packages below it.
package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"time"
)

// Default is the name of the workspace that exists without being created. Only a store of package remotestore that
// selects workspaces by a prefix, by tags or by a project has no such workspace.
const Default = "default"

// Version identifies the content of a stored state: an ETag, a generation, or a checksum. Only the store that returned
// a Version can interpret it. "" means that no state exists.
type Version string

// Digest returns a Version for stores whose services have no versions of objects: the SHA-256 of a state, in
// hexadecimal.
func Digest(data []byte) Version {
	sum := sha256.Sum256(data)
	return Version(hex.EncodeToString(sum[:]))
}

// Store keeps the states of workspaces: any number, or only one. Its methods may be called concurrently.
type Store interface {
	// Get returns the state of a workspace. If no state exists, it returns nil and the Version "".
	Get(ctx context.Context, workspace string) ([]byte, Version, error)
	// Put replaces the state that has the version prev; "" means that no state exists. It returns the new version. If
	// the state has another version, the error is a *StaleError, and nothing is written. After any other error, the
	// stored state is complete: it is the old state, or the new state if the write was executed nevertheless. If the
	// workspace does not exist, Put creates it.
	Put(ctx context.Context, workspace string, data []byte, prev Version) (Version, error)
	// Delete deletes a workspace and its state. For Default it returns ErrDefault.
	Delete(ctx context.Context, workspace string) error
	// List returns the names of the workspaces: Default, and then the others, sorted.
	List(ctx context.Context) ([]string, error)
	// Lock takes the lock of a workspace. The workspace need not exist, and Lock does not create it. If another process
	// holds the lock, the error is a *LockError. Lock does not wait; the function Acquire does. unlock may be called once.
	// It works even if the context of Lock has ended.
	Lock(ctx context.Context, workspace string, who LockInfo) (unlock func(context.Context) error, err error)
	// Capabilities returns the optional abilities of the store. The result is the same each time.
	Capabilities() Capabilities
}

// Capabilities are the optional abilities of a store. A nil member means that the store does not have the ability.
//
// A store that wraps another store builds its own Capabilities. The encrypting store (package crypt) passes on only the
// members that it names. So it lacks a new ability until a developer has decided whether the ability would transfer
// unencrypted states.
//
// The stores have these capabilities:
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
// "journal" and "rows" mean: if that setting is used. A store with History also has Rewriter. remote and cloud have
// Policy and Named. pg has Migrator, Cursor and NoEncryption. pg and s3 have Disabled. s3 has Presigner, s3 and http
// have Finisher. A store with Parts also has Versioner and Concurrent. s3, gcs, azurerm, remote and cloud have Service.
type Capabilities struct {
	Breaker      Breaker        // locks of other processes can be broken
	Files        Files          // states are files of this machine
	Place        Locator        // the places of states can be compared with the places of other stores
	Policy       PolicyChecker  // a service must permit operations
	Named        NamedWorkspace // the only workspace has a name
	Migrator     Migrator       // the store may keep states in the place of another store, in another form
	NoEncryption NoEncryption   // the store cannot keep encrypted states
	Sealer       Sealer         // encrypts states, and can encrypt files beside them
	Versioner    Versioner      // returns the version of a state without reading the state

	Concurrent ConcurrentStore // several runs may work on one state
	Parts      PartStore       // parts of a state can be read and written
	History    Historian       // former states are kept
	Rewriter   FormerRewriter  // former states can be changed
	Service    ServiceVersions // the service may keep earlier versions by itself

	Journals  Journaler        // journals of runs are kept
	Disabled  DisabledJournals // the store may have journals that it does not read with its settings
	Cursor    JournalCursor    // stores how much of a journal was replayed
	Presigner JournalPresigner // lets another process write a journal
	Finisher  Finisher         // the store writes a state in several steps
}

// Breaker releases locks that other processes hold, by the IDs of the locks.
type Breaker interface {
	// Break releases the lock with the given ID. The error is a *LockError if no lock exists, or if the lock has another
	// ID. After an *UnansweredError, Break may be called again.
	Break(ctx context.Context, workspace, id string) error
}

// Files is a store that keeps states in local files.
type Files interface {
	// File returns the path of the file that the next Put of a workspace writes. The journal of a run is beside this file.
	File(workspace string) string
	// Apart reports whether the next Put of a workspace writes another file than Get reads.
	Apart(workspace string) bool
	// BackupFile returns the path of the backup, or "" if no backup is written.
	BackupFile(workspace string) string
	// SetAside renames the state of a workspace to the backup, because the state was moved to another store.
	SetAside(workspace string) error
	// Override returns the same store with other files: the file that Get reads, the file that Put writes, and the backup.
	// "" keeps the present file.
	Override(in, out, backup string) Store
	// SealBackups makes the store encrypt its backups and former states with the function seal.
	SealBackups(seal func([]byte) ([]byte, error))
}

// Locator identifies the places of states.
type Locator interface {
	// Place returns a text that identifies the place of a workspace's state, derived from the settings and their
	// defaults. It contains no credentials, and does not depend on the user.
	Place(workspace string) string
}

// PolicyChecker is a store whose service decides which operations it permits.
type PolicyChecker interface {
	// Permit returns an error if the service does not permit an operation on a workspace. runs is true for plans and
	// applies, and false for commands that only work on the state. version is the language version in the states that the
	// operation writes, or "" if it does not matter.
	Permit(ctx context.Context, workspace string, runs bool, version string) error
}

// NamedWorkspace is a store with only one workspace, which has a name.
type NamedWorkspace interface {
	// Only returns the name of the workspace. It returns "" if that is the default workspace, or if there are several.
	Only() string
	// Prepare creates the workspace if it does not exist.
	Prepare(ctx context.Context) error
}

// Migrator is a store that may keep its states in the same place as another store, in another form.
type Migrator interface {
	// MigrateFrom returns two stores for moving states from the form of a former store to the form of this store. It
	// returns false if the former store and this store use different places. source has the states that are not yet
	// moved, and target has the moved states. Both use the locks of target. If the form is the same, both are nil,
	// because no state must be moved.
	MigrateFrom(from Store) (source, target Store, ok bool)
}

// NoEncryption is a store that cannot keep encrypted states.
type NoEncryption interface {
	// NoEncryption returns the reason, as the end of a sentence.
	NoEncryption() string
}

// Sealer encrypts and decrypts files.
type Sealer interface {
	// Encrypts reports whether Seal encrypts; otherwise Seal returns its argument unchanged.
	Encrypts() bool
	Seal(ctx context.Context, plain []byte) ([]byte, error)
	// Open decrypts the result of Seal. If data is not encrypted, and the settings require encryption, it returns an
	// error.
	Open(ctx context.Context, data []byte) ([]byte, error)
	// AcceptsPlain returns an error if the settings require encryption.
	AcceptsPlain() error
	// Stored returns the state of a workspace and its version, like Get, but in its stored form, without decryption.
	// Commands use it to report on a state that Get cannot decrypt.
	Stored(ctx context.Context, workspace string) ([]byte, Version, error)
	// Outdated reports whether the state of a workspace, when it was last read, was encrypted with other settings than
	// the present ones.
	Outdated(workspace string) bool
}

// Versioner returns the version of a state without reading the state.
type Versioner interface {
	// Version returns the version of the present state, which Get would return, too.
	Version(ctx context.Context, workspace string) (Version, error)
}

// Finisher is a store that writes a state in several steps.
type Finisher interface {
	// Finish completes a write of data whose first step may be done. exists reports whether data is the present state. v
	// is the version of the present state.
	Finish(ctx context.Context, workspace string, data []byte) (v Version, exists bool, err error)
}

// Historian keeps former states.
type Historian interface {
	// History lists the states of a workspace that the store has: the present state, and then the former states, the
	// latest first.
	History(ctx context.Context, workspace string) ([]Past, error)
	// Former returns a former state from the list of History, in its stored form, which may be encrypted. If p has only a
	// serial, Former returns the latest former state with that serial. It returns nil if the store no longer has the
	// state.
	Former(ctx context.Context, workspace string, p Past) ([]byte, error)
}

// FormerRewriter changes former states, to remove values from them that must not be stored.
type FormerRewriter interface {
	// RewriteFormer calls rewrite for each former state of a workspace, in its stored form, and replaces the state by the
	// result; a nil result keeps the state. A store whose former states share objects calls rewrite for each object, in
	// the form of a state. RewriteFormer returns the number of changed states. It replaces a state completely or not at
	// all. A store without shared objects continues with the other states after an error.
	RewriteFormer(ctx context.Context, workspace string, rewrite func(serial uint64, stored []byte) ([]byte, error)) (changed int, err error)
}

// ServiceVersions is a store whose service may keep earlier versions of objects, such as a bucket with versioning.
type ServiceVersions interface {
	// EarlierVersions lists the earlier versions of a workspace's state and of the objects of its journals, for each
	// object the latest first. It returns none if the service does not keep versions.
	EarlierVersions(ctx context.Context, workspace string) ([]ServiceVersion, error)
	// ReadVersion returns the content of a version, or nil if the version no longer exists.
	ReadVersion(ctx context.Context, workspace string, v ServiceVersion) ([]byte, error)
	// DeleteVersion permanently deletes a version, if the service permits that. If the version no longer exists, it
	// returns nil.
	DeleteVersion(ctx context.Context, workspace string, v ServiceVersion) error
	// DeleteCommand returns the shell command with which a user can delete a version, such as a command of the
	// service's CLI.
	DeleteCommand(workspace string, v ServiceVersion) string
}

// ServiceVersion is an earlier version of an object in a service.
type ServiceVersion struct {
	Name     string // the name of the object
	ID       string // the ID of the version
	Snapshot bool   // a snapshot, if the service distinguishes snapshots from versions
	Journal  bool   // the object is a part of a run's journal, not a state
	Time     time.Time
}

// Past is a present or former state in a history.
type Past struct {
	Serial    uint64
	Lineage   string
	Time      time.Time // when the state was written
	Who       string    // the writer, as user@host; "" if unknown
	Operation string    // the operation that wrote the state, in the form of LockInfo.Operation; "" if unknown
	Counts    *Counts   // the changed objects; nil if the store does not count them
	Writing   int64     // the number that the store gave to the state; 0 if serial and time identify it

	// Overridden lists the objects that the run destroyed although they were protected, because of -allow-destroy. Stores
	// do not set it; the caller reads it from the states.
	Overridden []string
}

// Counts are the numbers of objects in which a state differs from the state before it.
type Counts struct{ Added, Changed, Removed int }

// Journaler keeps copies of the journals of runs, so that another machine can replay the journal of a crashed run. The
// writer of a journal encrypts it.
type Journaler interface {
	// Note writes data to the journal of the run that holds the lock of a workspace. The parameter at is the byte
	// position of the first byte. The data may repeat bytes that the store already has. Without data, Note only records
	// a sign of life, which a run sends every LifeSign.
	Note(ctx context.Context, workspace string, at int64, data []byte) error
	// Orphaned returns the journals of runs that ended without calling Drop. If the connection of a run is closed,
	// Orphaned waits for a while, because the run may still send a sign of life. If the caller does not hold the lock,
	// the result may contain the journal of the run that holds the lock.
	Orphaned(ctx context.Context, workspace string) ([]OrphanedJournal, error)
	// Drop deletes the journal of a run. If run is "", it is the run that holds the lock.
	Drop(ctx context.Context, workspace, run string) error
}

// LifeSign is the interval at which a run without new records shows that it is still in progress.
const LifeSign = 2 * time.Second

// OrphanedJournal is a stored journal of a run that may have crashed.
type OrphanedJournal struct {
	Run  string // the name of the run, for Drop
	Data []byte
	Held bool // the run holds the lock: it is in progress, or its lock must be broken
}

// DisabledJournals is a store that could keep journals, but does not with its settings. It may have journals of runs
// that used other settings.
type DisabledJournals interface {
	// WithJournals returns the workspaces with such journals, and the environment variable that makes commands read
	// them. It returns none if the user has no permission to read journals.
	WithJournals(ctx context.Context) (workspaces []string, variable string, err error)
}

// JournalCursor stores how many records of a journal were replayed into the state.
type JournalCursor interface {
	// SetReplayed stores how many records of a journal were replayed. name is the name of the journal, not of a lock.
	SetReplayed(ctx context.Context, workspace, name string, records uint32) error
	// Replayed returns how many records of a journal were replayed, or 0 if that is unknown.
	Replayed(ctx context.Context, workspace, name string) (uint32, error)
}

// JournalPresigner lets another process write to a journal, with a signed request instead of credentials.
type JournalPresigner interface {
	// Presign returns a signed request for the run that holds the lock of a workspace. The request can only write one
	// object of that run's journal, and is valid for a limited time.
	Presign(ctx context.Context, workspace string) (*PresignedRequest, error)
}

// PresignedRequest is a signed request without a body. Everyone who knows the request can send it, so it is a secret.
type PresignedRequest struct {
	Method, URL string
	Header      http.Header
}

// PartStore is a store that can read and write a part of a state. A part is a state that has only the objects of some
// resources, and all outputs and check results. Resources are named by their addresses without keys.
type PartStore interface {
	// Review returns the resources of a state, and the resources whose stored stamps equal the given stamps, so that a run
	// has nothing to do for them. The error is ErrNotPartial if the state cannot be divided, for example because it does
	// not exist yet.
	Review(ctx context.Context, workspace string, stamps map[string]Stamp) (*Review, error)
	// GetPart returns the objects of some resources, in the form of a state, and the version of the whole state.
	GetPart(ctx context.Context, workspace string, resources []string) ([]byte, Version, error)
	// PutPart replaces the objects of some resources, and stores stamps, if the whole state has the version prev. It
	// returns the new version. If an error does not tell whether the state was written, PutPart returns with it the
	// version that the state has if the write was executed. It returns "" if it sent no request that could write the
	// state.
	PutPart(ctx context.Context, workspace string, p Part, prev Version) (Version, error)
}

// Part has the data that PutPart writes: a whole state or the objects of some resources, and stamps.
type Part struct {
	Whole     bool             // Data is the whole state
	Resources []string         // the resources whose objects Data replaces; resources that Data lacks are removed
	Data      []byte           // the objects in the form of a state; nil means that only stamps change
	Stamps    map[string]Stamp // the stamps of resources for which the run has nothing left to do
}

// Stamp identifies the sources of a resource, an output or a condition: its configuration, and the resources that it
// uses. A store keeps a digest of the stamp and of the objects of these resources. If that digest is unchanged, none of
// the sources has changed.
type Stamp struct {
	Config string   // a digest of the configuration
	Of     []string // the resources to which it refers
}

// Review tells which resources of a state have unchanged sources. PartStore.Review returns it.
type Review struct {
	Version   Version
	Resources []string        // the resources with objects, sorted
	Same      map[string]bool // the resources whose stored stamps equal the given stamps
}

// OutputStamp returns the key of a root output in maps of stamps.
func OutputStamp(name string) string { return "output " + name }

// ConditionsStamp returns the key in maps of stamps for a declaration with conditions that is neither a resource nor a
// root output: a check block, or an output or a variable of a module.
func ConditionsStamp(address string) string { return "conditions of " + address }
