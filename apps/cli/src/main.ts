#!/usr/bin/env node
import { runCli } from './cli.ts';

// Without a listener an error of stdout would end the process; `write` below rejects with the same error.
process.stdout.on('error', () => undefined);

process.exitCode = await runCli(process.argv.slice(2), {
  environment: process.env,
  now: Date.now,
  write: (text) =>
    new Promise((resolve, reject) => {
      process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
    }),
  writeError: (text) => process.stderr.write(text),
});
