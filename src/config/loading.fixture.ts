import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EnvironmentVariables } from './environment/variables.ts';
import { formatProblem } from './file/problems.ts';
import { type LoadedConfig, loadConfig } from './load.ts';

/** A working directory that is gone when the test is over. */
export function workingDirectory(files: Readonly<Record<string, string>>) {
  const path = mkdtempSync(join(tmpdir(), 'fanfare-config-'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text);
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
}

/** Loads from a directory that holds these files. */
export function load(
  files: Readonly<Record<string, string>>,
  environment: EnvironmentVariables = {},
  file?: string,
): LoadedConfig {
  using directory = workingDirectory(files);
  return loadConfig({ file, directory: directory.path, environment });
}

/** Loads a value as the content of a JSON file. */
export function loadJson(content: unknown, environment: EnvironmentVariables = {}): LoadedConfig {
  return load({ 'fanfare.json': JSON.stringify(content) }, environment);
}

/** The problems as a person reads them. */
export function problemsIn(loaded: LoadedConfig): readonly string[] {
  return loaded.ok ? [] : loaded.problems.map(formatProblem);
}

/** The configuration that a test counts on being right. */
export function configIn(loaded: LoadedConfig) {
  if (!loaded.ok) throw new Error(problemsIn(loaded).join('\n'));
  return loaded.config;
}

/** The least an app needs. */
export const app = { id: 'a', keys: [{ key: 'k', secret: 's' }] };
/** The least an instance needs. */
export const instance = { id: '6f1b0f5e-6c1c-4c6c-9d8e-1f0e5a6f7b8c', secretKeys: ['s'] };
/** A pair of keys and a subject that a web gateway takes. */
export const vapid = {
  publicKey:
    'BB4YUy_UdUwC8wQdnHXOszuD_9gax85P6ILMscmLxYlupGwxHE4v9A3ZajZT5uRURdMt_khuztdcepDGoYiBwKM',
  privateKey: 'BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc',
  subject: 'mailto:ops@example.org',
};
