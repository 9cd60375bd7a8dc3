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
	Info      string    `json:"Info"`      // the process, so that a process that has ended is recognised
	Who       string    `json:"Who"`       // user@host
	Version   string    `json:"Version"`
	Created   time.Time `json:"Created"` // in UTC
	Path      string    `json:"Path"`    // of the state; set by the store

	// Shared asks for a lock that several commands may have at once, because they only read. A store without such locks
	// gives an exclusive one.
	Shared bool `json:"-"`
}

// NewLockInfo describes a lock that this process is about to take.
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

// Marshal is the lock file's content.
func (i LockInfo) Marshal() []byte {
	data, err := json.Marshal(i)
	if err != nil { // a year past 9999
		panic(err)
	}
	return data
}

// KnownAs records the ID by which Terraform and OpenTofu break the lock, if it differs.
func (i *LockInfo) KnownAs(id string) {
	if i.ID == id {
		return
	}
	if i.Info != "" {
		i.Info += "; "
	}
	i.Info += "for Terraform and OpenTofu the ID is " + id
}

// ParseLockInfo reads a lock file.
func ParseLockInfo(data []byte) (LockInfo, error) {
	var i LockInfo
	err := json.Unmarshal(data, &i)
	if err == nil {
		_, err = i.Created.MarshalJSON() // package time reads zones that it does not write
	}
	if err != nil {
		return LockInfo{}, fmt.Errorf("the lock info cannot be read: %w", err)
	}
	return i, nil
}

// String is the block that Terraform and OpenTofu print and tools look for.
func (i LockInfo) String() string {
	return fmt.Sprintf("Lock Info:\n  ID:        %s\n  Path:      %s\n  Operation: %s\n  Who:       %s\n  Version:   %s\n  Created:   %s\n  Info:      %s\n",
		i.ID, i.Path, i.Operation, i.Who, i.Version, i.Created, i.Info)
}

// ShortOperation returns the short word for the operation in a lock: "apply" for "OperationTypeApply".
func ShortOperation(name string) string {
	return strings.ToLower(strings.TrimPrefix(name, "OperationType"))
}
