package s3store

import "encoding/json"

// item is an item of a DynamoDB table whose fields are strings.
type item map[string]string

// MarshalJSON encodes the item in the JSON form of DynamoDB, where each field has a type.
func (i item) MarshalJSON() ([]byte, error) {
	typed := map[string]map[string]string{}
	for name, s := range i {
		typed[name] = map[string]string{"S": s}
	}
	return json.Marshal(typed)
}

// UnmarshalJSON decodes the JSON form of DynamoDB. It ignores fields that are not strings.
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

// request has the fields of GetItem, PutItem and DeleteItem requests to DynamoDB.
type request struct {
	TableName                 string
	Key                       item   `json:",omitempty"`
	Item                      item   `json:",omitempty"`
	ConsistentRead            bool   `json:",omitempty"`
	ConditionExpression       string `json:",omitempty"`
	ExpressionAttributeValues item   `json:",omitempty"`
}

// conditionFailed is the type of DynamoDB's error for an unmet condition of a write.
const conditionFailed = "ConditionalCheckFailedException"
