import { z } from 'zod';

/** The shapes of the events of a stream, by their names, as JSON schemas. */
export function eventsOf(shapes: Readonly<Record<string, z.ZodType>>) {
  return Object.fromEntries(
    Object.entries(shapes).map(([name, shape]) => {
      const { $schema: _, ...schema } = z.toJSONSchema(shape);
      return [name, schema];
    }),
  );
}
