import { z } from 'zod';

type Parts<Shape> = z.ZodObject<
  { -readonly [Name in keyof Shape]: z.ZodOptional<z.ZodType> },
  z.core.$strict
>;

/** The schema of a change: the same settings, all optional and without defaults. */
export function partsOf<Shape extends z.core.$ZodShape>(
  settings: z.ZodObject<Shape>,
): Parts<Shape> {
  const parts = Object.entries<z.core.$ZodType>(settings.shape).map(([name, field]) => {
    const bare = canBeLeftOut(field) ? field.unwrap() : field;
    const part = bare instanceof z.ZodObject ? partsOf(bare) : (bare as z.ZodType);
    const { description } = field as z.ZodType;
    return [name, (description === undefined ? part : part.describe(description)).optional()];
  });
  const { id } = z.globalRegistry.get(settings) ?? {};
  const schema = z.strictObject(Object.fromEntries(parts));
  // The compiler cannot know that `fromEntries` keeps the names.
  return (id === undefined ? schema : schema.meta({ id })) as unknown as Parts<Shape>;
}

function canBeLeftOut(
  field: z.core.$ZodType,
): field is z.ZodDefault | z.ZodPrefault | z.ZodOptional {
  return (
    field instanceof z.ZodDefault ||
    field instanceof z.ZodPrefault ||
    field instanceof z.ZodOptional
  );
}
