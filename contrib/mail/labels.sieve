# Files each message in the folder of its label, for all users of Dovecot (Pigeonhole, with its plugin sieve_extprograms)
# whose models have a label for each folder. Spam goes to Junk. Below a probability of 0.9, a message stays in the inbox.
# tamis generate recipe sieve-labels prints it with the path of tamis. It stands in place of tamis.sieve, which says what
# settings Dovecot needs.
#
#   install -d /etc/dovecot/sieve /etc/dovecot/sieve-filter
#   ln -s /usr/bin/tamis /etc/dovecot/sieve-filter/tamis
#   cp labels.sieve /etc/dovecot/sieve/ && sievec /etc/dovecot/sieve/labels.sieve
#
# A label is the name of a folder as users see it, with the separator of the namespace between a folder and one within it.
# The label INBOX, in any case, is the inbox. Only what tamis has just written counts: if tamis fails, the message goes to the
# inbox as it came, whatever its header says.

require ["vnd.dovecot.filter", "fileinto", "mailbox", "variables"];

if filter "tamis" ["score", "--passthrough", "--unsure", "0.9"] {
    if header :is "X-Spam-Flag" "YES" {
        fileinto :create "Junk";
        stop;
    }
    if header :matches "X-Tamis-Label" "*" {
        fileinto :create "${1}";
        stop;
    }
}
