package access

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	misstepv1 "misstep/proto/misstep/v1"
)

// Options of a coordinator's server.
type Options struct {
	// Authenticators tell who calls; the first that finds its kind of credential decides. Without any, whoever can connect is a
	// Local caller who may do everything.
	Authenticators []Authenticator
	// Audit receives each call that the proto wants to be recorded, once it has ended, and each call that was refused; nil receives
	// none.
	Audit func(context.Context, Call)
}

// Call is a call that ended.
type Call struct {
	Caller *Caller
	// Method by its full name.
	Method string
	// Project in which it was made; empty for a call that decides by no project.
	Project string
	// Request and Response; nil in streams and where there is none, as of calls that were refused before their message was read.
	Request, Response any
	// Err is the answer; nil is OK.
	Err error
}

// Refused reports whether the call was refused because of who made it.
func (c Call) Refused() bool {
	code := status.Code(c.Err)
	return code == codes.PermissionDenied || code == codes.Unauthenticated
}

// ServerOptions authenticates each call, refuses it unless the caller has a role that the proto asks for, and puts the caller into
// its context.
func ServerOptions(o Options) []grpc.ServerOption {
	return guard{Options: o, again: again}.serverOptions()
}

func (g guard) serverOptions() []grpc.ServerOption {
	all := []grpc.ServerOption{grpc.ChainUnaryInterceptor(g.unary), grpc.ChainStreamInterceptor(g.stream)}
	if len(g.Authenticators) > 0 {
		all = append(all, grpc.InTapHandle(g.tap))
	}
	return all
}

// again is the time after which a call that still exchanges messages is held to its credential anew.
const again = 5 * time.Second

type guard struct {
	Options
	again time.Duration
}

func (g guard) unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	c, project, err := g.admit(ctx, info.FullMethod)
	call := Call{Caller: c, Method: info.FullMethod, Project: project}
	if err == nil {
		ctx = forAnyone(InProject(With(ctx, c), project))
		call.Response, err = handle(ctx, request)
	}
	call.Request, call.Err = messageOf(request), err
	g.audit(ctx, call)
	return call.Response, err
}

// messageOf returns the message of a request; nil if it is one that is read only once its caller was admitted (intake.Arriving),
// and was not read.
func messageOf(request any) any {
	if r, late := request.(interface{ Message() any }); late {
		return r.Message()
	}
	return request
}

func (g guard) stream(server any, s grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	c, project, err := g.admit(s.Context(), info.FullMethod)
	if err == nil {
		err = handle(server, &stream{
			ServerStream: s, ctx: InProject(With(s.Context(), c), project), guard: g, method: info.FullMethod, admitted: time.Now(),
		})
	}
	g.audit(s.Context(), Call{Caller: c, Method: info.FullMethod, Project: project, Err: err})
	return err
}

func (g guard) audit(ctx context.Context, call Call) {
	if g.Audit != nil && (call.Refused() || MethodOf(call.Method).Audited) {
		g.Audit(ctx, call)
	}
}

// stream is a stream whose context has the caller. It may last longer than the caller's credential: so whoever still sends or
// receives after a while is admitted anew, and refused once the credential has ended, was revoked, or gives the role no more.
type stream struct {
	grpc.ServerStream
	ctx    context.Context
	guard  guard
	method string

	mu       sync.Mutex // handlers may send and receive at once
	admitted time.Time
}

func (s *stream) Context() context.Context { return s.ctx }

// SendMsg implements grpc.ServerStream.
func (s *stream) SendMsg(m any) error {
	if err := s.admit(); err != nil {
		return err
	}
	return s.ServerStream.SendMsg(m)
}

// RecvMsg implements grpc.ServerStream. A message that came while the stream was silent is refused, too.
func (s *stream) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	if refused := s.admit(); refused != nil {
		return refused
	}
	return err
}

func (s *stream) admit() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.admitted) < s.guard.again {
		return nil
	}
	// Of the stream's own context: ctx has the caller that is to be found anew. What cannot be found out just now, as the store is
	// away, ends no call that was admitted.
	anew := context.WithValue(s.ServerStream.Context(), tapped{}, (*admitted)(nil))
	_, _, err := s.guard.admit(anew, s.method)
	if code := status.Code(err); code == codes.Unauthenticated || code == codes.PermissionDenied {
		return err
	}
	s.admitted = time.Now()
	return nil
}

// admit returns who calls, as far as that is known, in which project, and why the call is refused.
func (g guard) admit(ctx context.Context, name string) (c *Caller, project string, err error) {
	method := MethodOf(name)
	var unnamed error // why it is in no project, which only those learn who may call
	if method.ByProject {
		project, unnamed = projectOf(ctx)
	}
	if c, err = g.admitTo(ctx, name, method, project); err == nil {
		err = unnamed
	}
	return c, project, err
}

// admitTo is admit for a call in a project.
func (g guard) admitTo(ctx context.Context, name string, method Method, project string) (*Caller, error) {
	anyone := slices.Contains(method.Roles, misstepv1.Role_ROLE_ANYONE)
	c, err := g.authenticate(ctx)
	nobody := &Caller{Name: Anonymous, Kind: KindUnspecified, Address: Address(ctx)}
	if anyone && (err != nil || c == nil) {
		return nobody, nil
	}
	if err != nil {
		return nobody, unauthenticated(err)
	}
	if c == nil {
		return nobody, status.Error(codes.Unauthenticated, "this coordinator asks who calls: run `misstep login`, or give a token in "+
			"MISSTEP_TOKEN; runners give --tls-cert and --tls-key")
	}
	if anyone || c.satisfies(method, project) {
		return c, nil
	}
	return c, status.Error(codes.PermissionDenied, refusal(c, name, method, project))
}

// authenticate returns nil when there is no credential.
func (g guard) authenticate(ctx context.Context) (*Caller, error) {
	// A message may come long after its headers: the credential is asked about again.
	if t, ok := ctx.Value(tapped{}).(*admitted); ok && t != nil && time.Since(t.at) < g.again {
		return t.caller, nil
	}
	if len(g.Authenticators) == 0 {
		c := From(context.Background())
		c.Address = Address(ctx)
		return c, nil
	}
	for _, authenticate := range g.Authenticators {
		found, err := authenticate(ctx)
		if err != nil {
			return nil, err
		}
		if found != nil {
			c := *found // authenticators may keep theirs
			c.Address = Address(ctx)
			return &c, nil
		}
	}
	return nil, nil
}

func unauthenticated(err error) error {
	if s, ok := status.FromError(err); ok {
		return s.Err()
	}
	return status.Error(codes.Unauthenticated, err.Error())
}

// satisfies reports whether the caller has one of the roles of a call, in its project if it decides by project.
func (c *Caller) satisfies(m Method, project string) bool {
	return slices.ContainsFunc(m.Roles, func(role misstepv1.Role) bool {
		return role == misstepv1.Role_ROLE_AUTHENTICATED || c.May(role, project)
	})
}

// remedies by the kind of a caller that lacks a role.
var remedies = map[Kind]string{
	Local:  "an admin can do it",
	Person: "an admin can grant it with `misstep access grant`",
	Token:  "make a token that has it with `misstep token create`",
	Runner: "log in, or give a token that has it",
}

// refusal says who may not do what, and what it takes.
func refusal(c *Caller, name string, m Method, project string) string {
	call := name[strings.LastIndexByte(name, '/')+1:]
	if len(m.Roles) == 0 {
		return fmt.Sprintf("%s: no role may call it", call)
	}
	var needed, has []string
	for _, role := range m.Roles {
		needed = append(needed, RoleName(role))
	}
	for _, g := range c.Grants {
		has = append(has, g.String())
	}
	where := " in every project"
	if project != "" {
		where = " in the project " + project
	}
	granted := "nothing"
	if len(has) > 0 {
		granted = strings.Join(has, ", ")
	}
	return fmt.Sprintf("%s may not call %s: it needs the role %s%s, granted is %s; %s", c.Name, call, strings.Join(needed, " or "),
		where, granted, remedies[c.Kind])
}
