import { describe, expect, it } from 'bun:test';
import { z } from 'zod';
import { NamedSchemas } from './named-schemas.ts';

const kind = z.enum(['a', 'b']).meta({ id: 'Kind' });
const rule = z.strictObject({ kind, seconds: z.number().default(5) }).meta({ id: 'Rule' });

describe('a named schema', () => {
  it('is printed once, and referred to by its name', () => {
    const schemas = new NamedSchemas();
    expect(schemas.ofAnswer(z.array(kind))).toMatchObject({
      items: { $ref: '#/components/schemas/Kind' },
    });
    expect(schemas.ofBody(kind)).toEqual({ $ref: '#/components/schemas/Kind' });
    expect(Object.keys(schemas.all())).toEqual(['Kind']);
  });

  it('has another name in bodies if it differs there, and so has what contains it', () => {
    const schemas = new NamedSchemas();
    const app = z.object({ rules: z.array(rule) }).meta({ id: 'App' });
    schemas.ofAnswer(app);
    expect(schemas.ofBody(app)).toEqual({ $ref: '#/components/schemas/AppInput' });
    expect(Object.keys(schemas.all())).toEqual(['App', 'AppInput', 'Kind', 'Rule', 'RuleInput']);
    expect(schemas.all()).toMatchObject({
      Rule: { required: ['kind', 'seconds'] },
      RuleInput: { required: ['kind'] },
      AppInput: { properties: { rules: { items: { $ref: '#/components/schemas/RuleInput' } } } },
    });
  });

  it('has its own name in bodies if no answer has it', () => {
    const schemas = new NamedSchemas();
    expect(schemas.ofBody(rule)).toEqual({ $ref: '#/components/schemas/Rule' });
  });

  it('is the only one of its name', () => {
    const schemas = new NamedSchemas();
    schemas.ofAnswer(kind);
    const other = z.enum(['c']).meta({ id: 'Kind' });
    expect(() => schemas.ofAnswer(other)).toThrow('Two different shapes are called Kind');
  });

  it('may get more fields in answers, and has none but these in bodies', () => {
    const schemas = new NamedSchemas();
    const shape = z.strictObject({ a: z.string() });
    expect(schemas.ofAnswer(shape).additionalProperties).toBeUndefined();
    expect(schemas.ofBody(shape).additionalProperties).toBe(false);
  });

  it('says which numbers need 64 bits', () => {
    const shape = z.strictObject({ ms: z.int().min(0), share: z.number() });
    expect(new NamedSchemas().ofAnswer(shape)).toMatchObject({
      properties: {
        ms: { type: 'integer', minimum: 0, format: 'int64' },
        share: { type: 'number', format: 'double' },
      },
    });
  });
});
