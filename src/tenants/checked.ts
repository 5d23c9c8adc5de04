import type { z } from 'zod';
import { problemsOf, wording } from '../config/file/problems.ts';
import { OperationRefused } from './operation-refused.ts';
import { readStored } from './stored-settings.ts';

interface Input {
  readonly input: unknown;
  /** The message for a field that the schema does not have. */
  readonly unknownField: string;
}

/** Parses a request. Throws an `OperationRefused` that names the first invalid field. */
export function checked<Schema extends z.ZodType>(
  schema: Schema,
  { input, unknownField }: Input,
): z.output<Schema> {
  const parsed = schema.safeParse(input, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? unknownField : wording(issue)),
  });
  if (parsed.success) return parsed.data;
  const [problem] = problemsOf(schema, parsed.error);
  const field = problem?.path ?? '';
  const rule = problem?.message ?? 'is not valid';
  if (field !== '') throw new OperationRefused('invalid', `${field}: ${rule}`, field);
  throw new OperationRefused('invalid', `the body: ${rule}`);
}

/**
 * Checks a tenant as a whole: settings that are valid alone may not fit together. A change of the tenant `before` keeps its
 * settings of a later version, and adds none.
 */
export function checkAsWhole(schema: z.ZodType, input: object, before?: object): void {
  const kept = before === undefined ? [] : unknownIn(schema, before);
  const read = readStored(schema, input);
  const isUsable = 'settings' in read && read.unknown.every((name) => kept.includes(name));
  if (!isUsable) checked(schema, { input, unknownField: 'unknown setting' });
}

function unknownIn(schema: z.ZodType, stored: object): readonly string[] {
  const read = readStored(schema, stored);
  return 'settings' in read ? read.unknown : [];
}
