import { API_PATH } from '../src/admin/operation.ts';

/** A JSON schema, as far as zod prints it. */
interface Schema {
  readonly $ref?: string;
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

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

/** Prints the types of the admin API for the dashboard, so that a page does not compile with a changed answer. */
export function printDashboardTypes({ paths, components }: Description): string {
  const types = new NamedTypes(components.schemas);
  const operations = Object.entries(paths)
    .filter(([path]) => path.startsWith(`${API_PATH}/`))
    .flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, described]) => {
        const key = `${method.toUpperCase()} ${path.slice(API_PATH.length)}`;
        return linesOf(key, { described: described as Described, types });
      }),
    );
  const lines = [
    '// Printed from docs/reference/openapi.json by `npm run docs`.',
    '',
    '/** Every operation of the admin API, by method and path. */',
    'export interface Operations {',
    ...operations,
    '}',
    ...types.lines(),
  ];
  return `${lines.join('\n')}\n`;
}

/** The types of the named schemas that something printed refers to. */
class NamedTypes {
  private readonly schemas: Readonly<Record<string, object>>;
  private readonly printed = new Map<string, readonly string[]>();

  constructor(schemas: Readonly<Record<string, object>>) {
    this.schemas = schemas;
  }

  /** The type of a schema, whose named parts are printed too. */
  typeOf(schema: Schema | undefined, otherwise: string): string {
    if (schema === undefined) return otherwise;
    this.printNamesIn(schema);
    return typeOf(schema);
  }

  private printNamesIn(schema: Schema): void {
    for (const [, name = ''] of JSON.stringify(schema).matchAll(/"\$ref":"[^"]*\/(\w+)"/g)) {
      if (this.printed.has(name)) continue;
      const named: Schema = this.schemas[name] ?? {};
      this.printed.set(name, typeLines(name, named));
      this.printNamesIn(named);
    }
  }

  lines(): readonly string[] {
    return [...this.printed]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .flatMap(([, lines]) => ['', ...lines]);
  }
}

function linesOf(
  key: string,
  { described, types }: { readonly described: Described; readonly types: NamedTypes },
): readonly string[] {
  const { parameters = [], requestBody, responses = {} } = described;
  const done = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1];
  return [
    `  '${key}': {`,
    `    readonly path: ${parametersIn('path', parameters)};`,
    `    readonly query: ${parametersIn('query', parameters)};`,
    `    readonly body: ${types.typeOf(schemaOf(requestBody), 'undefined')};`,
    `    readonly answer: ${types.typeOf(schemaOf(done), 'unknown')};`,
    '  };',
  ];
}

function typeLines(name: string, schema: Schema): readonly string[] {
  const fields = fieldsOf(schema);
  if (fields.length === 0) return [`export type ${name} = ${typeOf(schema)};`];
  // The fields of a type can be listed as those of a record, which those of an interface cannot.
  return [`export type ${name} = {`, ...fields.map((field) => `  ${field};`), '};'];
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
  if (schema.$ref !== undefined) return schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1);
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
        ? listOf(schema.items === undefined ? 'unknown' : typeOf(schema.items))
        : `readonly [${schema.prefixItems.map(typeOf).join(', ')}]`;
    case 'object':
      return objectOf(schema);
    default:
      return 'unknown';
  }
}

function listOf(type: string): string {
  return /^\w+$/.test(type) ? `readonly ${type}[]` : `readonly (${type})[]`;
}

function objectOf(schema: Schema): string {
  const fields = fieldsOf(schema);
  if (fields.length > 0) return `{ ${fields.join('; ')} }`;
  const { additionalProperties } = schema;
  const values =
    typeof additionalProperties === 'object' ? typeOf(additionalProperties) : 'unknown';
  return `Readonly<Record<string, ${values}>>`;
}

function fieldsOf({ properties = {}, required = [] }: Schema): readonly string[] {
  return Object.entries(properties).map(([name, schema]) =>
    required.includes(name)
      ? `readonly ${nameOf(name)}: ${typeOf(schema)}`
      : `readonly ${nameOf(name)}?: ${typeOf(schema)} | undefined`,
  );
}

function union(types: readonly string[]): string {
  return [...new Set(types)].join(' | ');
}

function nameOf(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}
