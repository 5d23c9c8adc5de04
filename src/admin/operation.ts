import { z } from 'zod';
import type { DeepReadonly } from '../config/schema.ts';
import { checked } from '../tenants/checked.ts';
import type { RefusalCode } from '../tenants/operation-refused.ts';
import type { Admin } from './admin.ts';

/** What stands before the path of every operation. */
export const API_PATH = '/api/v1';

/** A request to an operation, nothing of it checked but that the path fits. */
export interface Call {
  readonly path: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  /** Read from JSON; `undefined` where there was no body. */
  readonly body: unknown;
}

/** What one operation takes and gives; it is also how `docs/openapi.json` describes it. */
interface Terms<Query extends z.ZodObject, Body extends z.ZodType, Answer extends z.ZodType> {
  /** Its name for programs that are made from the description. */
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** After `API_PATH`; `{name}` stands for one step of it. */
  readonly path: string;
  readonly summary: string;
  readonly query: Query;
  readonly body: Body;
  readonly status: 200 | 201 | 202;
  readonly answer: Answer;
  /** Beside those that any operation may be refused with. */
  readonly refusals: readonly RefusalCode[];
  /** The line of the log for a change that was made. Operations that change nothing have none. */
  readonly logLine?: ChangeLine;
}

/** What a line of the log says of a change; `subject` names the field for the id of what was changed. */
export interface ChangeLine {
  readonly message: string;
  readonly subject: 'app' | 'instance' | 'webhook';
}

/** One operation of the admin API. */
export interface Operation extends Terms<z.ZodObject, z.ZodType, z.ZodType> {
  run(admin: Admin, call: Call): Promise<{ readonly status: number; readonly body: unknown }>;
}

/** For operations that take no body: none, or an empty object. */
export const NO_BODY = z.strictObject({}).optional();

export const NO_QUERY = z.strictObject({});

/** Makes an operation whose function gets checked values only. */
export function operation<
  Query extends z.ZodObject,
  Body extends z.ZodType,
  Answer extends z.ZodType,
>(
  terms: Terms<Query, Body, Answer> & {
    readonly act: (
      admin: Admin,
      given: {
        readonly path: (name: string) => string;
        readonly query: z.output<Query>;
        readonly body: z.output<Body>;
      },
    ) => Promise<DeepReadonly<z.output<Answer>>>;
  },
): Operation {
  const { act, ...rest } = terms;
  return {
    ...rest,
    async run(admin, call) {
      const query = checked(terms.query, call.query, 'unknown parameter');
      const given = { path: (name: string) => call.path[name] ?? '', query };
      const body = checked(terms.body, call.body, 'unknown setting');
      return { status: terms.status, body: await act(admin, { ...given, body }) };
    },
  };
}
