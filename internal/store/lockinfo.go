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

// LockInfo describes the holder of a lock. Its JSON is the form of Terraform and OpenTofu.
type LockInfo struct {
	ID        string    `json:"ID"`
	Operation string    `json:"Operation"` // such as "OperationTypeApply"
	Info      string    `json:"Info"`      // identifies the process, to recognize a process that has ended
	Who       string    `json:"Who"`       // user@host
	Version   string    `json:"Version"`
	Created   time.Time `json:"Created"` // in UTC
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

// KnownAs records in i.Info the ID by which Terraform and OpenTofu break the lock, if it differs from i.ID.
func (i *LockInfo) KnownAs(id string) {
	if i.ID == id {
		return
	}
	if i.Info != "" {
		i.Info += "; "
	}
	i.Info += "for Terraform and OpenTofu the ID is " + id
}

// ParseLockInfo decodes a lock file.
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

// String returns the lines that Terraform and OpenTofu print about a lock. Tools search for them.
func (i LockInfo) String() string {
	return fmt.Sprintf("Lock Info:\n  ID:        %s\n  Path:      %s\n  Operation: %s\n  Who:       %s\n  Version:   %s\n  Created:   %s\n  Info:      %s\n",
		i.ID, i.Path, i.Operation, i.Who, i.Version, i.Created, i.Info)
}

// ShortOperation returns the short form of the operation in a lock: "apply" for "OperationTypeApply".
func ShortOperation(name string) string {
	return strings.ToLower(strings.TrimPrefix(name, "OperationType"))
}
