/**
 * curl with a credential, before the rest of a command. It goes by a pipe: arguments are visible to everybody on the machine.
 * @param variable of the shell, which holds it
 */
export function keyedCurl(variable = 'UQRP_TOKEN'): string {
  return `echo "Authorization: Bearer $${variable}" | curl -H @-`;
}
