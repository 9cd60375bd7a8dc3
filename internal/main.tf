terraform { 
 required_providers { 
  toy = { source = "acme/toy" } 
 } 
}
