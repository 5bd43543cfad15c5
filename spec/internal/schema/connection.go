package schema

// connectionDefinitions are the parts that tell where something is and how to authenticate.
func connectionDefinitions() properties {
	uri := pattern(`^[^\s]+$`)
	uri["not"] = shape{"pattern": `^\s*\$\{`}
	all := properties{
		"uri": uri,
		"endpoint": anyOf(use("expression"), use("uri"), object(needs("uri"), properties{
			"uri":            anyOf(use("expression"), use("uri")).about("A URI, a template of one such as `https://example.com/{id}`, or an expression."),
			"authentication": use("policyOrName").about("How to authenticate."),
		})).about("Where something is reached."),
		"resource": object(needs("endpoint"), properties{
			"name":     text().about("A name for the resource."),
			"endpoint": use("endpoint"),
		}).about("A document that is somewhere else."),
	}
	schemes := properties{
		"basic":  credentials("username", "password").about("Basic authentication."),
		"bearer": anyOf(text(), credentials("token")).about("A bearer token."),
		"digest": credentials("username", "password").about("Digest authentication."),
		"oauth2": oauth2(true).about("OAuth 2."),
		"oidc":   oauth2(false).about("OpenID Connect."),
	}
	names := needs("basic", "bearer", "digest", "oauth2", "oidc")
	all["policy"] = object(nil, schemes).exactlyOne(names...)
	named := text()
	named["minLength"] = 1
	all["policyOrName"] = anyOf(text(), object(nil, schemes.with(properties{
		"use": named.about("The name of a policy in `use.authentications`."),
	})).exactlyOne(append(needs("use"), names...)...))
	return all
}

// credentials are either the name of a secret or all of the given texts.
func credentials(names ...string) shape {
	members := properties{}
	for _, name := range names {
		members[name] = text()
	}
	return anyOf(secret(), object(names, members))
}

func secret() shape {
	name := text()
	name["minLength"] = 1
	return object(needs("use"), properties{"use": name.about("The name of the secret that holds the properties.")})
}

func oauth2(endpoints bool) shape {
	token := object(needs("token", "type"), properties{"token": text(), "type": text()})
	members := properties{
		"authority": anyOf(use("uri"), use("expression")).about("The authority that issues tokens."),
		"grant": enum("authorization_code", "client_credentials", "password", "refresh_token",
			"urn:ietf:params:oauth:grant-type:token-exchange").about("The grant type."),
		"client": object(nil, properties{
			"id": text(), "secret": text(), "assertion": text(),
			"authentication": enum("client_secret_basic", "client_secret_post", "client_secret_jwt", "private_key_jwt", "none"),
		}).about("The client."),
		"request": object(nil, properties{
			"encoding": enum("application/x-www-form-urlencoded", "application/json"),
		}).open().about("How tokens are requested."),
		"issuers": listOf(text()), "scopes": listOf(text()), "audiences": listOf(text()),
		"username": text(), "password": text(), "subject": token, "actor": token,
	}
	if endpoints {
		members["endpoints"] = object(nil, properties{"token": text(), "revocation": text(), "introspection": text()}).open()
	}
	return anyOf(secret(), object(needs("authority", "grant"), members))
}

// dateTime takes the 31st of every month: a pattern cannot count days.
const dateTime = `^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$`

// eventDefinitions are the parts that tell of events.
func eventDefinitions() properties {
	attributes := properties{
		"id": text(), "source": anyOf(use("uri"), use("expression")), "type": text(), "time": text(), "subject": text(),
		"datacontenttype": text(), "dataschema": anyOf(use("uri"), use("expression")), "data": anything(),
	}
	event := func(required ...string) shape {
		s := shape{"type": "object", "properties": attributes}
		if len(required) > 0 {
			s["required"] = required
		}
		return s
	}
	filtered := event()
	filtered["minProperties"] = 1
	strategy := func(until shape) shape {
		filters := listOf(use("eventFilter"))
		members := properties{"any": filters}
		if until != nil {
			members["until"] = until
		}
		unended := properties{"until": shape{"const": false}}
		if until != nil {
			unended = properties{}
		}
		return anyOf(
			object(needs("all"), properties{"all": filters}.with(unended)),
			object(needs("any"), members.with(unended)),
			object(needs("one"), properties{"one": use("eventFilter")}.with(unended)),
		)
	}
	return properties{
		"eventToEmit": shape{"allOf": []shape{event("type"), {"properties": properties{"time": anyOf(use("expression"), pattern(dateTime))}}}},
		"eventFilter": object(needs("with"), properties{
			"with": filtered.about("The attributes that an event must have."),
			"correlate": mapOf(object(needs("from"), properties{
				"from":   text().about("An expression on the event."),
				"expect": text().about("What its value must be; the first value if absent."),
			}).open()).about("What ties events to each other and to the run."),
		}),
		"strategy":      strategy(anyOf(text(), use("untilStrategy"))),
		"untilStrategy": strategy(nil),
		"iterator": object(nil, properties{
			"item":   text().about("The variable that holds the item."),
			"at":     text().about("The variable that holds its position."),
			"do":     use("taskList").about("What to do with each item."),
			"output": use("output"),
			"export": use("export"),
		}).about("What is done with each item."),
	}
}
