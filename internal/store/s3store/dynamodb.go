package s3store

import "encoding/json"

// item is an item of a table. All its fields are strings.
type item map[string]string

// MarshalJSON writes the format of DynamoDB, with the type of each field.
func (i item) MarshalJSON() ([]byte, error) {
	typed := map[string]map[string]string{}
	for name, s := range i {
		typed[name] = map[string]string{"S": s}
	}
	return json.Marshal(typed)
}

// UnmarshalJSON reads the format of DynamoDB. It ignores fields that are not strings.
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

// request has the fields of GetItem, PutItem and DeleteItem requests.
type request struct {
	TableName                 string
	Key                       item   `json:",omitempty"`
	Item                      item   `json:",omitempty"`
	ConsistentRead            bool   `json:",omitempty"`
	ConditionExpression       string `json:",omitempty"`
	ExpressionAttributeValues item   `json:",omitempty"`
}

// conditionFailed is the type of the error for an unmet condition.
const conditionFailed = "ConditionalCheckFailedException"
