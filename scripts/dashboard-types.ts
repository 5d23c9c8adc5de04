import { API_PATH } from '../src/admin/operation.ts';

/** A JSON schema, as far as zod prints it. */
interface Schema {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly prefixItems?: readonly Schema[];
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>;
}

interface Described {
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
  }[];
  readonly requestBody?: Content;
  readonly responses?: Readonly<Record<string, Content>>;
}

/** Prints the types of the admin API for the dashboard, so that a page does not compile with a changed answer. */
export function printDashboardTypes(description: {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}): string {
  const lines = [
    '// Printed from docs/reference/openapi.json by `npm run docs`.',
    '',
    '/** Every operation of the admin API, by method and path. */',
    'export interface Operations {',
  ];
  // Many operations answer with the same shape. The second one refers to the first.
  const printedBefore = new Map<string, string>();
  const part = (name: string, at: string, type: string) => {
    const known = printedBefore.get(type);
    if (known === undefined && type.length > 80) printedBefore.set(type, at);
    lines.push(`    readonly ${name}: ${known ?? type};`);
  };
  for (const [path, methods] of Object.entries(description.paths)) {
    if (!path.startsWith(`${API_PATH}/`)) continue;
    for (const [method, described] of Object.entries(methods)) {
      const { parameters = [], requestBody, responses = {} } = described as Described;
      const key = `${method.toUpperCase()} ${path.slice(API_PATH.length)}`;
      const body = schemaOf(requestBody);
      const answer = schemaOf(
        Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1],
      );
      lines.push(`  '${key}': {`);
      lines.push(`    readonly path: ${parametersIn('path', parameters)};`);
      lines.push(`    readonly query: ${parametersIn('query', parameters)};`);
      part('body', `Operations['${key}']['body']`, body === undefined ? 'undefined' : typeOf(body));
      part(
        'answer',
        `Operations['${key}']['answer']`,
        answer === undefined ? 'unknown' : typeOf(answer),
      );
      lines.push('  };');
    }
  }
  return `${[...lines, '}'].join('\n')}\n`;
}

function schemaOf(content: Content | undefined): Schema | undefined {
  return content?.content?.['application/json']?.schema;
}

function parametersIn(place: string, parameters: NonNullable<Described['parameters']>): string {
  const fields = parameters
    .filter((parameter) => parameter.in === place)
    .map(({ name, required }) => {
      const isNeeded = place === 'path' || required === true;
      return `readonly ${nameOf(name)}${isNeeded ? ': string' : '?: string | undefined'}`;
    });
  return fields.length === 0 ? 'Record<never, string>' : `{ ${fields.join('; ')} }`;
}

function typeOf(schema: Schema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return union(schema.enum.map((value) => JSON.stringify(value)));
  const cases = schema.anyOf ?? schema.oneOf;
  if (cases !== undefined) return union(cases.map(typeOf));
  if (schema.allOf !== undefined) {
    return schema.allOf.map((each) => `(${typeOf(each)})`).join(' & ');
  }
  if (Array.isArray(schema.type)) {
    return union(schema.type.map((type: string) => typeOf({ ...schema, type })));
  }
  switch (schema.type) {
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type;
    case 'number':
    case 'integer':
      return 'number';
    case 'array':
      return schema.prefixItems === undefined
        ? `readonly (${schema.items === undefined ? 'unknown' : typeOf(schema.items)})[]`
        : `readonly [${schema.prefixItems.map(typeOf).join(', ')}]`;
    case 'object':
      return objectOf(schema);
    default:
      return 'unknown';
  }
}

function objectOf({ properties = {}, required = [], additionalProperties }: Schema): string {
  const fields = Object.entries(properties).map(([name, schema]) =>
    required.includes(name)
      ? `readonly ${nameOf(name)}: ${typeOf(schema)}`
      : `readonly ${nameOf(name)}?: ${typeOf(schema)} | undefined`,
  );
  if (fields.length > 0) return `{ ${fields.join('; ')} }`;
  const values =
    typeof additionalProperties === 'object' ? typeOf(additionalProperties) : 'unknown';
  return `Readonly<Record<string, ${values}>>`;
}

function union(types: readonly string[]): string {
  return [...new Set(types)].join(' | ');
}

function nameOf(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}
