package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/remote"
	"github.com/swrun/swrun/internal/terminal"
)

// tokenCommand is about the tokens of the users of the HTTP API. Every process that can open the store may make them.
func (p *program) tokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "token", Short: "Make and revoke tokens for the HTTP API (serve --auth)",
		Example: `  swrun token new ci --role author --namespace shop --expires-in 720h
  swrun token ls
  swrun token revoke ci`,
		Long: `A token has a role and the namespaces that its bearer sees. The roles are viewer (reads), author (also deploys and starts), operator (also
commands runs) and admin (everything). The store keeps a hash of the token. Callers send it as Authorization: Bearer TOKEN.`,
	}
	cmd.AddCommand(p.tokenNewCommand(), p.tokenListCommand(), p.tokenRevokeCommand())
	group(cmd)
	return cmd
}

func (p *program) tokenNewCommand() *cobra.Command {
	f, request := &operateFlags{makes: true, remote: true}, api.TokenRequest{}
	cmd := &cobra.Command{
		Use: "new NAME", Short: "Make a token, and print it; it cannot be shown again",
		Example: "  swrun token new ci --role author --namespace shop --expires-in 720h",
		Long:    "NAME consists of small letters, digits and hyphens. Histories and logs name the bearer of the token by it.",
		Args:    exactly("a name"), RunE: verb(func(args []string) error {
			request.Name = args[0]
			if err := access.CheckRole(access.Role(request.Role)); err != nil {
				return tokenError(err)
			}
			return p.operate(f, func(ctx context.Context, o *operation) error { return o.newToken(ctx, request) })
		}),
	}
	f.add(cmd, "human", "json", "yaml")
	flags := cmd.Flags()
	flags.StringVar(&request.Role, "role", "", "role of the bearer: viewer, author, operator or admin")
	flags.StringArrayVarP(&request.Namespaces, "namespace", "n", nil, "namespace whose workflows and runs the bearer sees (repeatable)")
	flags.BoolVar(&request.AllNamespaces, "all-namespaces", false, "show the bearer all namespaces")
	flags.BoolVar(&request.HideData, "hide-data", false, "hide the inputs, outputs and other data of runs from a viewer")
	flags.StringVar(&request.ExpiresIn, "expires-in", "", "time for which the token is valid, for example 720h (default until it is revoked)")
	completeValues(cmd, "role", []string{"viewer", "author", "operator", "admin"})
	return cmd
}

// tokenError names the faulty argument of token new; other errors stay unchanged.
func tokenError(err error) error {
	var invalid *access.InvalidError
	var refused *api.Problem
	switch {
	case errors.As(err, &invalid):
	case errors.As(err, &refused) && refused.Field != "":
		invalid = &access.InvalidError{Field: refused.Field, Detail: strings.TrimPrefix(refused.Detail, refused.Field+": ")}
	default:
		return err
	}
	flag := map[string]string{"name": "NAME", "role": "--role", "namespaces": "--namespace", "expiresIn": "--expires-in", "hideData": "--hide-data"}[invalid.Field]
	return usagef("for example swrun token new ci --role author --namespace shop", "%s: %s", flag, invalid.Detail)
}

func (o *operation) newToken(ctx context.Context, r api.TokenRequest) error {
	made, err := remote.Ask(ctx, o.deployment, api.IssueToken(), &api.TokenStart{Body: r})
	err = tokenError(err)
	if err != nil {
		return err
	}
	if o.flags.output != "human" {
		return o.print(made)
	}
	fmt.Fprintf(o.err, "the token %s, %s in %s%s; it is shown only now\n", made.Name, granted(made.Token), seen(made.Token), until(made.Token))
	return write(o.out, made.Text+"\n")
}

// granted returns the role of a token, and the data that it omits.
func granted(t api.Token) string {
	if t.HideData {
		return t.Role + ", no data"
	}
	return t.Role
}

func seen(t api.Token) string {
	if t.AllNamespaces {
		return "all namespaces"
	}
	return strings.Join(t.Namespaces, ", ")
}

func until(t api.Token) string {
	if t.ExpiresAt == "" {
		return ""
	}
	return ", until " + t.ExpiresAt
}

func (p *program) tokenListCommand() *cobra.Command {
	f := &operateFlags{remote: true, looksOnly: true}
	cmd := &cobra.Command{
		Use: "ls", Short: "List the tokens, their roles and their namespaces", Args: exactly(),
		RunE: verb(func([]string) error {
			return p.operate(f, func(ctx context.Context, o *operation) error {
				all, err := remote.Ask(ctx, o.deployment, api.ListTokens(), &api.None{})
				if err != nil {
					return err
				}
				if o.flags.output == "json" || o.flags.output == "yaml" {
					return o.print(all) // as the API does, which has them as a member
				}
				return printList(o, all.Tokens, func(t api.Token) string { return t.Name }, o.tokenTable)
			})
		}),
	}
	f.add(cmd, listForms()...)
	return cmd
}

func (o *operation) tokenTable(all []api.Token) error {
	w := terminal.NewTable(o.out, "NAME", "ROLE", "NAMESPACES", "CREATED", "BY", "EXPIRES")
	for _, t := range all {
		w.Row(t.Name, granted(t), seen(t), t.CreatedAt, cmp.Or(t.CreatedBy, "-"), cmp.Or(t.ExpiresAt, "never"))
	}
	return w.Flush()
}

func (p *program) tokenRevokeCommand() *cobra.Command {
	f := &operateFlags{remote: true}
	cmd := &cobra.Command{
		Use: "revoke NAME", Short: "Revoke a token: servers refuse it",
		Long: fmt.Sprintf("A server that accepted the token just before accepts it for up to %s more.", access.KnownFor),
		Args: exactly("a name"), RunE: verb(func(args []string) error {
			return p.operate(f, func(ctx context.Context, o *operation) error {
				if _, err := remote.Ask(ctx, o.deployment, api.RevokeToken(), &api.TokenPath{Name: args[0]}); err != nil {
					return refusalError(err)
				}
				return write(o.out, args[0]+" revoked\n")
			})
		}),
	}
	f.add(cmd)
	return cmd
}
