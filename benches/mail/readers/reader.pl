#!/usr/bin/env perl
# What MIME-tools shows of messages: reader.pl < PATHS, with the output of reader.py. Debian has it as libmime-tools-perl.
use strict;
use warnings;
no warnings 'recursion';
use Encode;
use JSON::PP;
use MIME::Parser;

my $DEEPEST = 200;
my %WIDER = ('iso-8859-1' => 'cp1252', 'latin1' => 'cp1252', 'latin-1' => 'cp1252', 'gb2312' => 'cp936');
$| = 1;

sub text_of {
    my ($octets, $declared) = @_;
    for my $name (grep { defined && length && !/ascii/i } $declared, 'UTF-8', 'cp1252') {
        my $encoding = Encode::find_encoding($WIDER{ lc $name } || $name) or next;
        my $text = eval { $encoding->decode(my $copy = $octets, Encode::FB_CROAK) };
        return $text if defined $text;
    }
    return Encode::decode('iso-8859-1', $octets);
}

sub collect {
    my ($entity, $attached, $depth, $parts) = @_;
    return if $depth > $DEEPEST;
    my $type = lc($entity->effective_type || 'text/plain');
    $attached ||= lc($entity->head->mime_attr('content-disposition') || '') eq 'attachment';
    if (my @inner = $entity->parts) {
        my $subject = eval { $inner[0]->head->get('subject') } || '';
        push @$parts, ['subject', \1, eval { Encode::decode('MIME-Header', $subject) } || $subject] if $type =~ m{^message/};
        collect($_, $attached, $depth + 1, $parts) for @inner;
    } elsif ($type =~ m{^text/}) {
        my $octets = $entity->bodyhandle ? $entity->bodyhandle->as_string : '';
        push @$parts, [$type, $attached ? \1 : \0, text_of($octets, $entity->head->mime_attr('content-type.charset'))];
    }
}

while (my $path = <STDIN>) {
    chomp $path;
    my $parser = MIME::Parser->new;
    $parser->output_to_core(1);
    $parser->tmp_to_core(1);
    $parser->extract_nested_messages(1);
    $parser->ignore_errors(1);
    $parser->max_parts(-1);
    my $octets = do { local (@ARGV, $/) = ($path); <> };
    my $parts = [];
    my $read = eval { collect($parser->parse_data($octets), 0, 0, $parts); 1 };
    print JSON::PP->new->ascii->encode($read ? $parts : undef), "\n";
}
