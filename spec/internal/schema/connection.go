package schema

// connectionDefinitions are the definitions of endpoints, resources and authentication.
func connectionDefinitions() properties {
	uri := pattern(`^[^\s]+$`)
	uri["not"] = shape{"pattern": `^\s*\$\{`}
	all := properties{
		"uri": uri,
		"endpoint": anyOf(use("expression"), use("uri"), object(needs("uri"), properties{
			"uri":            anyOf(use("expression"), use("uri")).about("A URI, a template of one such as `https://example.com/{id}`, or an expression."),
			"authentication": use("policyOrName").about("How to authenticate."),
		})).about("Where it is reached."),
		"resource": object(needs("endpoint"), properties{
			"name":     text().about("A name for the resource."),
			"endpoint": use("endpoint"),
		}).about("A document that is somewhere else."),
	}
	schemes := properties{
		"basic":  credentials("username", "password").about("Basic authentication."),
		"bearer": anyOf(text(), credentials("token")).about("A bearer token."),
		"digest": credentials("username", "password").about("Digest authentication."),
		"certificate": object(needs("use"), properties{"use": text().about("The name of the secret that holds the certificate and its key.")}).
			about("A certificate, which connections by TLS are opened with."),
		"oauth2": oauth2(true).about("OAuth 2."),
		"oidc":   oauth2(false).about("OpenID Connect."),
	}
	names := needs("basic", "bearer", "certificate", "digest", "oauth2", "oidc")
	all["policy"] = object(nil, schemes).open().exactlyOne(names...)
	named := text()
	all["policyOrName"] = anyOf(named, object(nil, schemes.with(properties{
		"use": named.about("The name of a policy in `use.authentications`."),
	})).exactlyOne(append(needs("use"), names...)...)).about("How to authenticate: a policy, or the name of one in `use.authentications`.")
	return all
}

// credentials are either the name of a secret or all of the given texts.
func credentials(names ...string) shape {
	about := map[string]string{"username": "The name of the user.", "password": "The user's password.", "token": "The token to send."}
	members := properties{}
	for _, name := range names {
		member := anyText() // some servers take only a name, or only a password
		if name == "token" {
			member = text()
		}
		members[name] = member.about(about[name] + " Take it from a secret: `${ $secrets.name }`.")
	}
	return anyOf(secret(), object(names, members))
}

func secret() shape {
	return object(needs("use"), properties{"use": text().about("The name of the secret that holds the properties.")})
}

func oauth2(endpoints bool) shape {
	token := object(needs("token", "type"), properties{
		"token": text().about("The token itself."), "type": text().about("The URI of the token's type."),
	})
	members := properties{
		"authority": anyOf(use("uri"), use("expression")).about("The authority that issues tokens."),
		"grant": enum("authorization_code", "client_credentials", "password", "refresh_token",
			"urn:ietf:params:oauth:grant-type:token-exchange").about("The grant type."),
		"client": oauth2Client(),
		"request": object(nil, properties{
			"encoding":   enum("application/x-www-form-urlencoded", "application/json").about("The format of the request: a form unless set."),
			"parameters": mapOf(anyText()).about("Further parameters of the request, such as redirect_uri."),
		}).open().about("How tokens are requested."),
		"issuers":   listOf(text()).about("The issuers whose tokens are accepted."),
		"scopes":    listOf(text()).about("The scopes to ask for."),
		"audiences": listOf(text()).about("The audiences to ask for."),
		"username":  anyText().about("The name of the user, for the password grant."),
		"password":  anyText().about("The user's password, for the password grant."),
		"subject":   token.about("The token of the party on whose behalf the request is made; the refresh token, or the code, of the grants that take one."),
		"actor":     token.about("The token of the party that acts on the subject's behalf."),
	}
	if endpoints {
		members["endpoints"] = object(nil, properties{
			"token":         text().about("Where tokens are issued: `/oauth2/token` unless set."),
			"revocation":    text().about("Where tokens are revoked: `/oauth2/revoke` unless set."),
			"introspection": text().about("Where tokens are looked up: `/oauth2/introspect` unless set."),
		}).open().about("Paths below the authority.")
	}
	return anyOf(secret(), object(needs("authority", "grant"), members))
}

func oauth2Client() shape {
	return object(nil, properties{
		"id":        text().about("The client's id."),
		"secret":    text().about("The client's secret; for private_key_jwt its private key, as PEM or JWK."),
		"assertion": text().about("A signed token that proves who the client is."),
		"authentication": enum("client_secret_basic", "client_secret_post", "client_secret_jwt", "private_key_jwt", "none").
			about("How the client proves who it is: client_secret_post unless set."),
	}).about("The client.")
}

// dateTime accepts the 31st of every month: a pattern cannot count days.
const dateTime = `^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$`

// eventDefinitions are the definitions that are about events.
func eventDefinitions() properties {
	attributes := properties{
		"id":              text().about("The event's id."),
		"source":          anyOf(use("uri"), use("expression")).about("A URI of where it happened."),
		"type":            text().about("The type of the event, for example com.example.order.placed.v1."),
		"time":            text().about("When it happened, for example 2026-01-31T12:00:00Z."),
		"subject":         text().about("The subject of the event."),
		"datacontenttype": text().about("The media type of the data: application/json unless set."),
		"dataschema":      anyOf(use("uri"), use("expression")).about("A URI of the data's schema."),
		"data":            anything().about("The event's data."),
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
	return properties{
		"eventToEmit": shape{"allOf": []shape{event("type"), {"properties": properties{"time": anyOf(use("expression"), pattern(dateTime))}}}},
		"eventFilter": object(needs("with"), properties{
			"with": filtered.about("The attributes that an event must have."),
			"correlate": mapOf(object(needs("from"), properties{
				"from":   text().about("An expression on the event."),
				"expect": text().about("The required value (default the first value)."),
			}).open()).about("How events are matched to each other and to the run."),
		}),
		"strategy":      strategy(anyOf(text(), use("untilStrategy"))),
		"untilStrategy": strategy(nil),
		"iterator": object(nil, properties{
			"item":   text().about("The variable that holds the item."),
			"at":     text().about("The variable that holds its position."),
			"do":     use("taskList").about("The tasks for each item."),
			"output": use("output"),
			"export": use("export"),
		}).about("The tasks for each item."),
	}
}

// strategy specifies the events to wait for. Without until (nil), all three forms may have an until that is false.
func strategy(until shape) shape {
	filters, filter := listOf(use("eventFilter")), use("eventFilter")
	all := properties{"all": filters.about("Wait for all of these events.")}
	any := properties{"any": filters.about("Wait for one of these events. An empty list takes every event.")}
	one := properties{"one": filter.about("Wait for this event.")}
	if until == nil {
		none := properties{"until": shape{"const": false}.about("A strategy that ends another one has no `until` of its own.")}
		all, any, one = all.with(none), any.with(none), one.with(none)
	} else {
		any["until"] = until.about("Continue until an expression on the array of consumed events is true, or until other events arrive.")
	}
	return anyOf(object(needs("all"), all), object(needs("any"), any), object(needs("one"), one))
}
