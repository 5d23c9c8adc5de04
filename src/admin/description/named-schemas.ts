import { z } from 'zod';

type Schema = z.core.JSONSchema.BaseSchema;
type Named = Readonly<Record<string, Schema>>;

/** The path of a named schema in an OpenAPI document. Source: OpenAPI 3.1, 4.8.7. */
const PLACE = '#/components/schemas/';

/**
 * Prints shapes as JSON schemas, and each shape with an `id` once, under that name. A body may leave out what has a
 * default and may not have unknown fields, so the same settings have two schemas: that of bodies is called `…Input`.
 */
export class NamedSchemas {
  /** By shape, because several operations have the same answer. */
  private readonly answers = new Map<z.ZodType, Schema>();
  /** By name, as JSON text. */
  private readonly printed = new Map<string, string>();

  /** The schema of what the server sends. All of these come before the first body. */
  ofAnswer(shape: z.ZodType): Schema {
    const known = this.answers.get(shape);
    if (known !== undefined) return known;
    const { $defs = {}, ...schema } = jsonSchemaOf(shape, 'output');
    const kept = this.keep($defs, schema, (name) => name);
    this.answers.set(shape, kept);
    return kept;
  }

  /** The schema of what the server gets. */
  ofBody(shape: z.ZodType): Schema {
    const { $defs = {}, ...schema } = jsonSchemaOf(shape, 'input');
    return this.keep($defs, schema, inputNames(this.differentFromAnswers($defs)));
  }

  /** Every named schema, in the order of the alphabet. */
  all(): Named {
    const sorted = [...this.printed].sort(([one], [other]) => (one < other ? -1 : 1));
    return Object.fromEntries(sorted.map(([name, text]) => [name, JSON.parse(text)]));
  }

  private keep(named: Named, schema: Schema, nameIn: (name: string) => string): Schema {
    for (const [id, body] of Object.entries(named)) {
      const [name, text] = [nameIn(id), linked(body, nameIn)];
      if ((this.printed.get(name) ?? text) !== text) {
        throw new Error(`Two different shapes are called ${name}`);
      }
      this.printed.set(name, text);
    }
    return JSON.parse(linked(schema, nameIn));
  }

  /** The names whose shape in a body is not that of answers, or refers to one that is not. */
  private differentFromAnswers(named: Named): ReadonlySet<string> {
    const different = new Set<string>();
    for (let before = -1; before < different.size; ) {
      before = different.size;
      for (const [name, schema] of Object.entries(named)) {
        const text = linked(schema, inputNames(different));
        if ((this.printed.get(name) ?? text) !== text) different.add(name);
      }
    }
    return different;
  }
}

function inputNames(different: ReadonlySet<string>) {
  return (name: string) => (different.has(name) ? `${name}Input` : name);
}

/** JSON text with the references of an OpenAPI document. */
function linked(schema: Schema, nameIn: (name: string) => string): string {
  return JSON.stringify(schema).replaceAll(
    /"\$ref":"#\/\$defs\/(\w+)"/g,
    (_, name: string) => `"$ref":"${PLACE}${nameIn(name)}"`,
  );
}

function jsonSchemaOf(shape: z.ZodType, io: 'input' | 'output'): Schema {
  const { $schema: _, ...schema } = z.toJSONSchema(shape, {
    io,
    // JSON Schema cannot express the rules of free-form objects.
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      sayNumberSize(jsonSchema);
      // A later server may add fields to its answers. Strict clients that are generated now must take them.
      if (io === 'output' && jsonSchema.additionalProperties === false) {
        delete jsonSchema.additionalProperties;
      }
    },
  });
  return schema;
}

/** Says which numbers need 64 bits, as times in milliseconds do. Some generators of clients otherwise take 32. */
function sayNumberSize(schema: Schema): void {
  if (schema.type === 'number') schema.format = 'double';
  if (schema.type !== 'integer' || schema.maximum !== Number.MAX_SAFE_INTEGER) return;
  schema.format = 'int64';
  delete schema.maximum;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
}
