import { z } from 'zod';
import { environmentName, secretFileName } from './environment/environment.ts';
import { configSchema } from './schema.ts';
import { look, type Setting, schemaAt, settingsOf } from './schema-walk.ts';

/** A row of the documentation. */
export interface SettingRow {
  /** For example `channels.apps[].id`, where `[]` is any entry of a list. */
  readonly path: string;
  /** The type, in plain English. */
  readonly type: string;
  /** The default as JSON, `required`, or `none` if the setting is optional. */
  readonly default: string;
  /** The environment variable that overrides it, if one can. */
  readonly environment: string | undefined;
  /** The environment variable that names a file with the value, if there is one. */
  readonly secretFile: string | undefined;
  readonly description: string;
}

/** Every setting, in the order of the schema. */
export function settingRows(): readonly SettingRow[] {
  return settingsOf(configSchema).map((setting) => ({
    path: setting.path,
    type: `${typeText(setting.schema)}${setting.nullable ? ' or null' : ''}`,
    default: defaultText(setting),
    environment: environmentName(setting),
    secretFile: secretFileName(setting),
    description: setting.description,
  }));
}

const intro = `# Settings

The server reads one file: the one given with \`--config\` or \`FANFARE_CONFIG\`, else \`fanfare.json\`, \`fanfare.yaml\` (\`.yml\`) or
\`fanfare.toml\` in the working directory, else one of these in \`/etc/fanfare\`. Environment variables override the file, and the file overrides the
defaults. An empty variable means \`null\` if the setting allows \`null\`. Relative paths begin in the working directory. If a setting is unknown or a
value is wrong, the server prints every problem with its place and exits with code 2. In the tables, \`[]\` means every entry of a list; entries can only be
set in the file. The variable of a list of texts has them with spaces between.

Settings that may hold a secret have a second variable, which ends in \`_FILE\` and names a file with the value; one line end at its end is dropped. Set one of both.
Keys, secrets and passwords must have no white space or line ends around them.

Three variables describe one app, beside those of the file: \`FANFARE_APP_ID\`, \`FANFARE_APP_KEY\`, and \`FANFARE_APP_SECRET\` or
\`FANFARE_APP_SECRET_FILE\`. Its other settings have their defaults.

\`PORT\`, which platforms set, is the port of Channels and push together, unless \`channels.port\` is set ([deploy](../operate/deploy.md#a-platform-with-one-port)).
`;

/** Prints `docs/reference/settings.md`. */
export function printSettings(): string {
  const sections = Map.groupBy(settingRows(), (row) => sectionOf(row.path));
  const tables = [...sections].map(([section, rows]) =>
    [`\n## ${headingOf(section)}`, ...descriptionOf(section), tableOf(rows)].join('\n\n'),
  );
  return `${[intro.trimEnd(), ...tables].join('\n')}\n`;
}

/** The section of a setting in the documentation: its first list of groups, else its first name. */
function sectionOf(path: string): string {
  return /^.*?\[\](?=\.)/.exec(path)?.[0] ?? /^\w+(?=\.)/.exec(path)?.[0] ?? '';
}

function headingOf(section: string): string {
  return section === '' ? 'The whole server' : `\`${section}\``;
}

function descriptionOf(section: string): readonly string[] {
  if (section === '') return [];
  const steps = section.split('.').flatMap((step) => step.split(/(?=\[\])/));
  const schema = schemaAt(configSchema, steps);
  return schema === undefined ? [] : [look(schema).description];
}

function tableOf(rows: readonly SettingRow[]): string {
  return [
    '| setting | type | default | environment | what it does |',
    '|---|---|---|---|---|',
    ...rows.map((row) => {
      const variable = [row.environment, row.secretFile]
        .flatMap((name) => (name === undefined ? [] : [`\`${name}\``]))
        .join(' or ');
      const cells = [`\`${row.path}\``, row.type, row.default, variable, row.description];
      return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
    }),
  ].join('\n');
}

function defaultText(setting: Setting): string {
  return typeof setting.default === 'string'
    ? setting.default
    : `\`${JSON.stringify(setting.default.value)}\``;
}

function typeText(schema: z.ZodType): string {
  if (schema instanceof z.ZodNumber)
    return `whole number, ${schema.minValue} to ${schema.maxValue}`;
  if (schema instanceof z.ZodBoolean) return 'true or false';
  if (schema instanceof z.ZodEnum) return schema.options.map((name) => `\`${name}\``).join(' or ');
  if (schema instanceof z.ZodString) return 'text';
  if (schema instanceof z.ZodLiteral) return `\`${schema.value}\``;
  if (schema instanceof z.ZodUnion) {
    return schema.options.map((option) => typeText(option as z.ZodType)).join(' or ');
  }
  if (!(schema instanceof z.ZodArray)) return 'object';
  const entry = look(schema.element as z.ZodType).schema;
  return `list of ${entry instanceof z.ZodObject ? 'objects' : typeText(entry)}`;
}
