import { z } from 'zod';

/** One setting of the schema: a value, a list, or an optional group. */
export interface Setting extends Look {
  /** For example `channels.apps[].id`, where `[]` is any entry of a list. */
  readonly path: string;
}

/** A schema without its optional and default wrappers, and the information in these. */
interface Look {
  readonly schema: z.ZodType;
  readonly nullable: boolean;
  /** If the setting is missing: its default value, nothing, or an error. */
  readonly default: { readonly value: unknown } | 'none' | 'required';
  readonly description: string;
}

/** What was found: schemas never change, and every load of a configuration asks for all settings. */
const settings = new WeakMap<z.ZodType, readonly Setting[]>();

/** Every setting below a schema, in the order of the schema. */
export function settingsOf(schema: z.ZodType): readonly Setting[] {
  return settings.getOrInsertComputed(schema, () =>
    membersOf(schema).flatMap(([name, member]) => walk(member, name)),
  );
}

function walk(schema: z.ZodType, path: string): readonly Setting[] {
  const setting = { ...look(schema), path };
  const below = (step: string, inner: z.ZodType) =>
    membersOf(inner).flatMap(([name, member]) => walk(member, `${path}${step}.${name}`));

  if (setting.schema instanceof z.ZodArray) {
    return [setting, ...below('[]', asType(setting.schema.element))];
  }
  // A group that is always present needs no row of its own.
  const isGroup = membersOf(setting.schema).length > 0;
  return [...(isGroup && setting.default !== 'none' ? [] : [setting]), ...below('', schema)];
}

/** Finds the schema at a path. A number or `[]` means an entry of a list. */
export function schemaAt(schema: z.ZodType, path: readonly PropertyKey[]): z.ZodType | undefined {
  const [step, ...rest] = path;
  if (step === undefined) return schema;
  const { schema: bare } = look(schema);
  const next =
    bare instanceof z.ZodArray
      ? asType(bare.element)
      : membersOf(bare).find(([name]) => name === step)?.[1];
  return next && schemaAt(next, rest);
}

/** The members of a group. A union has the members of all its types. */
export function membersOf(schema: z.ZodType): readonly (readonly [string, z.ZodType])[] {
  const { schema: bare } = look(schema);
  if (bare instanceof z.ZodObject) return shapeOf(bare);
  if (!(bare instanceof z.ZodDiscriminatedUnion)) return [];

  const { discriminator } = bare.def;
  const members = bare.options.flatMap((option) => membersOf(asType(option)));
  const types = members.filter(([name]) => name === discriminator).map(([, type]) => look(type));
  const others = members.filter(([name]) => name !== discriminator);
  return [
    [discriminator, oneOf(types)],
    ...others.map(([name, member]) => [name, member.optional()] as const),
  ];
}

/** Merges the discriminating literals of a union into one enum. */
function oneOf(types: readonly Look[]): z.ZodType {
  const names = types.flatMap(({ schema }) =>
    schema instanceof z.ZodLiteral ? [...schema.values].map(String) : [],
  );
  const choice = z.enum(names);
  const usual = types.map((type) => type.default).find((value) => typeof value === 'object');
  const described = usual === undefined ? choice : choice.default(String(usual.value));
  return described.describe(types[0]?.description ?? '');
}

function shapeOf(object: z.ZodObject): readonly (readonly [string, z.ZodType])[] {
  return Object.entries(object.shape).map(([name, member]) => [name, asType(member)]);
}

/** Removes the optional and default wrappers of a schema, and keeps their information. */
export function look(schema: z.ZodType): Look {
  const { description } = schema;
  const inner = unwrapped(schema);
  if (inner === undefined) {
    return { schema, nullable: false, default: 'required', description: description ?? '' };
  }
  const found = look(inner);
  return {
    schema: found.schema,
    nullable: found.nullable || schema instanceof z.ZodNullable,
    default: defaultOf(schema) ?? found.default,
    description: description ?? found.description,
  };
}

function defaultOf(schema: z.ZodType): Look['default'] | undefined {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) {
    return { value: schema.def.defaultValue };
  }
  return schema instanceof z.ZodOptional ? 'none' : undefined;
}

function unwrapped(schema: z.ZodType): z.ZodType | undefined {
  if (
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable
  ) {
    return asType(schema.unwrap());
  }
  // The output type of a pipe describes the setting.
  return schema instanceof z.ZodPipe ? asType(schema.out) : undefined;
}

/** Zod types inner schemas by their core type, which all of its schemas extend. */
function asType(schema: z.core.$ZodType): z.ZodType {
  return schema as z.ZodType;
}
