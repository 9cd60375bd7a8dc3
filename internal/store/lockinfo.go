package store

import (
	"encoding/json"
	"fmt"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/google/uuid"
)

// LockInfo describes the holder of a lock. Its JSON form is the form that Terraform and OpenTofu use.
type LockInfo struct {
	ID        string    `json:"ID"`
	Operation string    `json:"Operation"` // the name of the operation, such as "OperationTypeApply"
	Info      string    `json:"Info"`      // identifies the process, so that other processes recognize that it has ended
	Who       string    `json:"Who"`       // user@host
	Version   string    `json:"Version"`
	Created   time.Time `json:"Created"` // the time at which the lock was taken, in UTC
	Path      string    `json:"Path"`    // the path of the state; set by the store

	// Shared requests a lock that several reading commands may hold at once. A store without such locks takes an
	// exclusive lock.
	Shared bool `json:"-"`
}

// NewLockInfo returns the description of a lock that this process is about to take.
func NewLockInfo(operation, version string) LockInfo {
	host, _ := os.Hostname()
	name := os.Getenv("USER")
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return LockInfo{
		ID: uuid.NewString(), Operation: operation, Info: fmt.Sprintf("process %d", os.Getpid()),
		Who: name + "@" + host, Version: version, Created: time.Now().UTC(),
	}
}

// Marshal returns the content of a lock file.
func (i LockInfo) Marshal() []byte {
	data, err := json.Marshal(i)
	if err != nil { // fails only for a year after 9999
		panic(err)
	}
	return data
}

// KnownAs records in i.Info the ID by which Terraform and OpenTofu break the lock, if that ID differs from i.ID.
func (i *LockInfo) KnownAs(id string) {
	if i.ID == id {
		return
	}
	if i.Info != "" {
		i.Info += "; "
	}
	i.Info += "for Terraform and OpenTofu the ID is " + id
}

// ParseLockInfo decodes the JSON form of a LockInfo. It returns an error for a time that cannot be encoded again.
func ParseLockInfo(data []byte) (LockInfo, error) {
	var i LockInfo
	err := json.Unmarshal(data, &i)
	if err == nil {
		_, err = i.Created.MarshalJSON() // package time reads time zones that it does not write
	}
	if err != nil {
		return LockInfo{}, fmt.Errorf("the lock info cannot be read: %w", err)
	}
	return i, nil
}

// String returns the lines that Terraform and OpenTofu print about a lock. CI tools search for these lines.
func (i LockInfo) String() string {
	return fmt.Sprintf("Lock Info:\n  ID:        %s\n  Path:      %s\n  Operation: %s\n  Who:       %s\n  Version:   %s\n  Created:   %s\n  Info:      %s\n",
		i.ID, i.Path, i.Operation, i.Who, i.Version, i.Created, i.Info)
}

// ShortOperation returns the short form of the operation in a lock: "apply" for "OperationTypeApply".
func ShortOperation(name string) string {
	return strings.ToLower(strings.TrimPrefix(name, "OperationType"))
}
