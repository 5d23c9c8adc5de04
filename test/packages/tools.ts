import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where tools lie that package managers of languages install. */
const FOLDERS = [join(homedir(), 'go/bin'), join(homedir(), '.local/bin')];

/** What is needed beside Debian's packages, with the command that installs it. */
const INSTALL = {
  helm: 'go install helm.sh/helm/v3/cmd/helm@v3.22.0',
  'kubernetes-validate': 'pip install kubernetes-validate==1.37.0',
  actionlint: 'go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12',
  'check-jsonschema': 'pip install check-jsonschema==0.39.0',
} as const;

export type Tool = keyof typeof INSTALL;

export interface Ran {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a tool to its end. If it is not installed, the error says how to install it. */
export function runTool(name: Tool, args: readonly string[]): Ran {
  const beside = FOLDERS.map((folder) => join(folder, name)).find((path) => existsSync(path));
  const path = Bun.which(name) ?? beside;
  if (path === undefined) throw new Error(`${name} is not installed. Install it: ${INSTALL[name]}`);
  const { exitCode, stdout, stderr } = Bun.spawnSync([path, ...args]);
  return { exitCode, stdout: stdout.toString(), stderr: stderr.toString() };
}
