import { z } from 'zod';
import { type RefusalCode, statusOf } from '../tenants/operation-refused.ts';
import { API_PATH, type Operation } from './operation.ts';

/** The plain text pages of the admin listener. */
const textPages = [
  { path: '/healthz', id: 'health', summary: 'Whether the process is alive.', open: true },
  { path: '/readyz', id: 'readiness', summary: 'Whether the server can do its work.', open: true },
  { path: '/metrics', id: 'metrics', summary: 'Metrics for Prometheus.', open: false },
] as const;

const refusalWords: Readonly<Record<RefusalCode, string>> = {
  'not-logged-in': 'The password is missing or wrong.',
  forbidden: 'The role of the caller does not allow it, or a page of another site asks.',
  invalid: 'A parameter or the body is invalid; `field` names it.',
  'not-found': 'There is nothing with this id.',
  conflict: 'The request conflicts with the current state.',
  'too-large': 'The body is too large, or the data of the event is larger than the app allows.',
  'over-limit':
    'Too many wrong passwords or too many requests came from this address, or the app is over its rate or its quota.',
  unavailable: 'The store cannot be used now, or the realtime loop does not answer.',
};

const errorReference = { $ref: '#/components/schemas/Error' };

const denials = {
  401: refused(refusalWords['not-logged-in']),
  403: refused(refusalWords.forbidden),
  429: refused('Too many wrong passwords or too many requests came from this address.'),
};

/** Describes the operations as an OpenAPI document. Source: OpenAPI 3.1. */
export function openApi(operations: readonly Operation[]) {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const { path, id, summary, open } of textPages) {
    paths[path] = { get: describeTextPage({ id, summary, open }) };
  }
  for (const operation of operations) {
    const path = `${API_PATH}${operation.path}`;
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: describe(operation) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Fanfare admin API',
      version: '1',
      description:
        'Served by the admin listener. Every request needs the password: `admin.password`, or the one that the server has made, which `fanfare admin password` shows. Browsers log in and have a session instead, and a proxy may check users itself. `x-role` is the least role that may call an operation: viewer, support, operator, admin. Requests that change something need `Content-Type: application/json`, even without a body.',
    },
    security: [{ bearer: [] }, { basic: [] }, { session: [] }],
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        basic: { type: 'http', scheme: 'basic' },
        session: { type: 'apiKey', in: 'cookie', name: 'fanfare' },
      },
      schemas: {
        Error: {
          type: 'object',
          properties: { error: { type: 'string' }, field: { type: 'string' } },
          required: ['error'],
          additionalProperties: false,
        },
      },
    },
  };
}

function describe(operation: Operation) {
  const { id, method, path, summary, role, query, body, status, answer, refusals } = operation;
  const { contentType = 'application/json' } = operation;
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const inQuery = Object.entries(query.shape).map(([name, kind]) => {
    const { description, ...schema } = schemaOf(kind as z.ZodType, 'output');
    return { name, in: 'query', required: false, description, schema };
  });
  const parameters = [...inPath, ...inQuery];
  const isEmpty = body.safeParse(undefined).success;
  const all: RefusalCode[] = ['invalid', ...refusals, 'unavailable'];
  return {
    operationId: id,
    summary,
    'x-role': role,
    ...(operation.open ? { security: [] } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(isEmpty ? {} : { requestBody: { required: true, content: json(schemaOf(body, 'input')) } }),
    responses: {
      [status]: {
        description: 'Done.',
        content: { [contentType]: { schema: schemaOf(answer, 'output') } },
      },
      ...denials,
      ...(method === 'GET'
        ? {}
        : {
            413: refused('The body is too large.'),
            415: refused('The Content-Type is not application/json.'),
          }),
      ...Object.fromEntries(all.map((code) => [statusOf(code), refused(refusalWords[code])])),
    },
  };
}

function describeTextPage({ id, summary, open }: Omit<(typeof textPages)[number], 'path'>) {
  const content = { 'text/plain': { schema: { type: 'string' } } };
  return {
    operationId: id,
    summary,
    ...(open ? { security: [] } : {}),
    responses: {
      200: { description: 'Yes.', content },
      ...(id === 'health' ? {} : { 503: { description: 'No, and why.', content } }),
      ...(open ? {} : denials),
    },
  };
}

function refused(description: string) {
  return { description, content: json(errorReference) };
}

function json(schema: object) {
  return { 'application/json': { schema } };
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output') {
  // JSON Schema cannot express the rules of free-form objects.
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
}
