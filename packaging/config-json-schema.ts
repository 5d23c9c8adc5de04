import { z } from 'zod';
import { configSchema } from '../src/config/schema.ts';

/** A part of a JSON Schema, as far as it is read here. */
interface Schema {
  properties?: Record<string, Schema>;
  items?: Schema;
  oneOf?: Schema[];
  [word: string]: unknown;
}

/**
 * A JSON Schema of the configuration file: names and types of all settings. The server checks more at its start.
 * Patterns are left out, because Helm's have another syntax, and because Helm would print a secret that does not match.
 */
export function configJsonSchema(): object {
  const {
    $schema: _,
    $defs,
    ...named
  } = z.toJSONSchema(configSchema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      delete jsonSchema.pattern;
    },
  });
  const schema = withoutReferences(named as Schema, $defs as Record<string, Schema> | undefined);
  const { engine, channels } = schema.properties ?? {};
  if (schema.properties !== undefined && engine !== undefined) {
    schema.properties['engine'] = ofAnyType(engine);
  }
  // The file may name an app by a number.
  const id = channels?.properties?.['apps']?.items?.properties?.['id'];
  if (id !== undefined) id['type'] = ['string', 'integer'];
  return schema;
}

/** The settings of all types together: a variable may choose the type. */
function ofAnyType({ oneOf: types = [], ...rest }: Schema): Schema {
  const properties = Object.assign({}, ...types.map((type) => type.properties));
  const any = { ...properties, type: { type: 'string' } };
  return { ...rest, type: 'object', properties: any, additionalProperties: false };
}

/** Puts the schemas that have names in the admin API where they are referred to: the chart has names of its own. */
function withoutReferences(schema: Schema, named: Readonly<Record<string, Schema>> = {}): Schema {
  const text = JSON.stringify(schema, (_, value) => {
    const { $ref, ...rest } = Object(value) as Schema;
    const [, name = ''] = /^#\/\$defs\/(\w+)$/.exec(String($ref)) ?? [];
    const found = named[name];
    if (found === undefined) return value;
    const { id: _id, ...meant } = found;
    return { ...meant, ...rest };
  });
  return JSON.parse(text);
}
