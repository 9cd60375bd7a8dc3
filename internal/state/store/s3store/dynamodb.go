package s3store

import "encoding/json"

// item is one of a table; all its fields are strings.
type item map[string]string

// MarshalJSON writes the form of the service, with the type of each field.
func (i item) MarshalJSON() ([]byte, error) {
	typed := map[string]map[string]string{}
	for name, s := range i {
		typed[name] = map[string]string{"S": s}
	}
	return json.Marshal(typed)
}

// UnmarshalJSON reads it. Fields that are not strings are left out.
func (i *item) UnmarshalJSON(data []byte) error {
	var typed map[string]struct{ S *string }
	if err := json.Unmarshal(data, &typed); err != nil {
		return err
	}
	*i = item{}
	for name, v := range typed {
		if v.S != nil {
			(*i)[name] = *v.S
		}
	}
	return nil
}

// request has the fields of GetItem, PutItem and DeleteItem.
type request struct {
	TableName                 string
	Key                       item   `json:",omitempty"`
	Item                      item   `json:",omitempty"`
	ConsistentRead            bool   `json:",omitempty"`
	ConditionExpression       string `json:",omitempty"`
	ExpressionAttributeValues item   `json:",omitempty"`
}

// conditionFailed is the type of the error for a condition that does not hold.
const conditionFailed = "ConditionalCheckFailedException"
