import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '@sluice/redis';

const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgvzhVjP32N/Fwo92S
dv4FpAgfu7L78mM/hpB/ZIrgKaahRANCAARwLQG9WkXbCpbHiO3NljJ2lCWSuw8/
QkG1BFOx/ryaaQk/Y+leVRR9ELqpg/ZNZRx6ZuvVo24eQ5vOgo8vaXvW
-----END PRIVATE KEY-----`;

/** The certificate of the tests' encrypted servers: self-signed, for `localhost` and for no IP address. */
export const redisCertificate = `-----BEGIN CERTIFICATE-----
MIIBZzCCAQ2gAwIBAgIBATAKBggqhkjOPQQDAjAXMRUwEwYDVQQDDAxzbHVpY2Ug
dGVzdHMwIBcNMDAwMTAxMDAwMDAwWhgPMjEyNjEwMjkwMDAwMDBaMBcxFTATBgNV
BAMMDHNsdWljZSB0ZXN0czBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABHAtAb1a
RdsKlseI7c2WMnaUJZK7Dz9CQbUEU7H+vJppCT9j6V5VFH0QuqmD9k1lHHpm69Wj
bh5Dm86Cjy9pe9ajSDBGMB0GA1UdDgQWBBRiHWvxQvGwOirNC6q8t14jCmegSzAP
BgNVHRMBAf8EBTADAQH/MBQGA1UdEQQNMAuCCWxvY2FsaG9zdDAKBggqhkjOPQQD
AgNIADBFAiA2CEqX3SO8wYXW//aOtszUT6z4DWBugw/QGfhWJPCN3wIhAIezCVaH
cLw8xb/wqmWEQXST5eRvkU+8SIWGphszXV+U
-----END CERTIFICATE-----`;

/** The settings that make a server listen with TLS. */
export interface Encryption {
  /** The port that it listens on with TLS. */
  port: number;
  settings: [name: string, value: string][];
}

/**
 * Writes key and certificate to files that exist until `stack` ends. Call the function that it resolves with once for
 * each server.
 */
export async function prepareEncryption(stack: AsyncDisposableStack): Promise<() => Promise<Encryption>> {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-test-redis-tls-'));
  stack.defer(() => rm(directory, { recursive: true, force: true }));
  const keyFile = join(directory, 'key.pem');
  const certificateFile = join(directory, 'certificate.pem');
  await writeFile(keyFile, key, { mode: 0o600 });
  await writeFile(certificateFile, redisCertificate);
  return async () => {
    const port = await findFreePort();
    const settings: Encryption['settings'] = [
      ['tls-port', String(port)],
      ['tls-key-file', keyFile],
      ['tls-cert-file', certificateFile],
      ['tls-auth-clients', 'no'],
      // Encrypts what servers and sentinels say to each other, too.
      ['tls-ca-cert-file', certificateFile],
      ['tls-replication', 'yes'],
      ['tls-cluster', 'yes'],
    ];
    return { port, settings };
  };
}

/** These settings as command-line arguments of a server. */
export function encryptionArguments(encryption: Encryption | undefined): string[] {
  return encryption?.settings.flatMap(([name, value]) => [`--${name}`, value]) ?? [];
}
