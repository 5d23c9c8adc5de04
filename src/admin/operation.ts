import { z } from 'zod';
import type { DeepReadonly } from '../config/schema.ts';
import type { InstanceId } from '../push/model/instance-id.ts';
import type { Caller } from '../runtime/caller.ts';
import { checked } from '../tenants/checked.ts';
import type { RefusalCode } from '../tenants/operation-refused.ts';
import type { Admin } from './admin.ts';
import type { PathValues } from './path-values.ts';
import type { Rights, Role } from './rights.ts';

/** The prefix of every operation's path. */
export const API_PATH = '/api/v1';

/** The type of an answer that is a stream of server-sent events. */
export const EVENT_STREAM = 'text/event-stream';

/** The session of the browser that calls. */
export interface BrowserSession {
  /** Begins a session, or returns why not. */
  logIn(
    given: { readonly password: string } | { readonly token: string },
  ): { readonly status: number; readonly error: string } | undefined;
  logOut(): void;
  /** Makes the token of a link that logs in once. */
  makeLink(): string;
}

/** A request to an operation. Only its path and the caller's rights have been checked. */
export interface OperationRequest {
  readonly path: PathValues;
  readonly query: Readonly<Record<string, string>>;
  /** Parsed JSON; `undefined` if there was no body. */
  readonly body: unknown;
  readonly caller: Caller;
  readonly rights: Rights;
  readonly session: BrowserSession;
  /** Aborts when the caller has disconnected or, during a streamed answer, is no longer authorised. */
  readonly signal: AbortSignal;
}

/** The input and output of one operation. `docs/reference/openapi.json` is printed from it. */
interface Terms<Query extends z.ZodObject, Body extends z.ZodType, Answer extends z.ZodType> {
  /** The name of the operation for code generators. */
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** The path after `API_PATH`; `{name}` matches one segment. */
  readonly path: string;
  readonly summary: string;
  /** The least role that may call it. */
  readonly role: Role;
  /** Whether it can be called without a password. */
  readonly open?: true;
  /** Whether a call with this query is also answered without a log-in. */
  readonly forNobody?: (query: Readonly<Record<string, string>>) => boolean;
  /**
   * What callers see who may only see some apps or instances. Paths below one app or instance are authorised
   * automatically. `filtered`: the operation filters by caller. Without this field, such callers are refused.
   */
  readonly restricted?: 'filtered';
  /** The data of each server-sent event of an answer that is a stream, by its name. Without it, the answer is JSON. */
  readonly events?: Readonly<Record<string, z.ZodType>>;
  readonly query: Query;
  readonly body: Body;
  readonly status: 200 | 201 | 202;
  readonly answer: Answer;
  /** The refusals besides those of every operation. */
  readonly refusals: readonly RefusalCode[];
  /** The log line of a change. Operations that only read have none. */
  readonly logLine?: ChangeLine;
}

/** The log line of a change. `subject` is the field with the changed object. */
export interface ChangeLine {
  readonly message: string;
  readonly subject: 'app' | 'instance' | 'webhook';
}

/** One operation of the admin API. */
export interface Operation extends Terms<z.ZodObject, z.ZodType, z.ZodType> {
  run(
    admin: Admin,
    call: OperationRequest,
  ): Promise<{ readonly status: number; readonly body: unknown }>;
}

/** The body of operations that take none: nothing, or an empty object. */
const NO_BODY = z.strictObject({}).optional();

const NO_QUERY = z.strictObject({});

/** The terms that an operation may leave out: no query, no body, status 200, no refusals of its own. */
type Optional = 'query' | 'body' | 'status' | 'refusals';

type GivenTerms<Query extends z.ZodObject, Body extends z.ZodType, Answer extends z.ZodType> = Omit<
  Terms<Query, Body, Answer>,
  Optional
> &
  Partial<Pick<Terms<Query, Body, Answer>, Optional>>;

/** Defines an operation. `act` gets only checked values. */
export function operation<
  Answer extends z.ZodType,
  Query extends z.ZodObject = typeof NO_QUERY,
  Body extends z.ZodType = typeof NO_BODY,
>(
  given: GivenTerms<Query, Body, Answer> & {
    readonly act: (
      admin: Admin,
      given: {
        readonly path: (name: string) => string;
        /** The push instance of a path below `/instances/{id}`. */
        readonly instanceId: () => InstanceId;
        readonly query: z.output<Query>;
        readonly body: z.output<Body>;
      } & Pick<OperationRequest, 'caller' | 'rights' | 'session' | 'signal'>,
    ) => Promise<DeepReadonly<z.output<Answer>>>;
  },
): Operation {
  const { act, ...terms } = given;
  // Without a schema, `Query` and `Body` are those of the defaults.
  const query = terms.query ?? (NO_QUERY as z.ZodObject as Query);
  const body = terms.body ?? (NO_BODY as z.ZodType as Body);
  const { status = 200, refusals = [] } = terms;
  return {
    ...terms,
    query,
    body,
    status,
    refusals,
    run: async (admin, call) => ({
      status,
      body: await act(admin, {
        ...call,
        path: (name) => call.path.of(name),
        instanceId: () => call.path.instanceId(),
        query: checked(query, { input: call.query, unknownField: 'unknown parameter' }),
        body: checked(body, { input: call.body, unknownField: 'unknown setting' }),
      }),
    }),
  };
}
